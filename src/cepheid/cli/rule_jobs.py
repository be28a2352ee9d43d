"""`cepheid run` for a job with a directory of rules.

In: a job with `[rules]`. Out: files or tables with the matches of all rules; a stream follows the directory.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from cepheid.cli.colours import coloured
from cepheid.cli.job_file import Job
from cepheid.cli.reading_writing import rows_of, write
from cepheid.cli.streams import follow, stream_sink
from cepheid.errors import InputError
from cepheid.options import LIMITS, Limits
from cepheid.rules import PatternSet, directory

if TYPE_CHECKING:
    from cepheid.spark.batch import DataFrame

_BATCH = ("order_by", "columns", "buckets", "nulls")
_STREAM = ("order_by", "columns", "buckets", "watermark", "max_ahead", "time")


def run_rules(arguments: argparse.Namespace, job: Job) -> int:
    """Run the rules of a directory on the rows of a job."""
    from cepheid.spark.embedded import job_session

    assert job.rules is not None
    contents = directory(job.rules).read()
    # a job that follows its rules runs without those that are wrong, and takes them up when they are right
    rules = contents.rules() if _is_followed(job) and contents.files else contents.whole()
    console = Console(stderr=True, highlight=False)
    with job_session(f"cepheid {Path(arguments.job).name}", job.spark) as session:
        rows = rows_of(session, job.source)
        if rows.isStreaming:
            return _stream(arguments, console, job, rules, rows)
        return _batch(arguments, console, job, rules, rows)


def _batch(arguments: argparse.Namespace, console: Console, job: Job, rules: PatternSet, rows: DataFrame) -> int:
    from cepheid.spark.jobs import counted

    given = _given(job, _BATCH)
    if arguments.explain:
        Console(highlight=False).print(coloured(rules.match(rows, **given).explain()))
        return 0
    for name, sink in job.sinks.items():
        events = counted(rows, f"events of {name}")
        found = rules.match(events.rows, **given)
        write(console, name, sink, (events,), found.matches if name == "matches" else found.timeouts)
    return 0


def _stream(arguments: argparse.Namespace, console: Console, job: Job, rules: PatternSet, rows: DataFrame) -> int:
    if job.stream is None or job.rules is None:
        raise InputError("the source is a stream, but [source] does not say so.\n  Write stream = true there.")
    found = rules.match_stream(rows, **_given(job, _STREAM))
    if arguments.explain:
        Console(highlight=False).print(coloured(found.explain()))
        return 0
    given = job.stream
    past = given.history
    sinks: dict[str, Any] = {name: stream_sink(sink) for name, sink in job.sinks.items()}
    is_followed = _is_followed(job)
    if not is_followed and sinks.pop("rejected_rules", None) is not None:
        console.print("rejected_rules is for a directory that is followed, and this job ends with its input")

    def start(show: object) -> Any:
        return found.start(
            checkpoint=given.checkpoint,
            trigger=given.trigger,
            flush=given.flush,
            on_error=given.on_error,
            idle=given.idle,
            history=None if past is None else lambda: rows_of(rows.sparkSession, past.source),
            seam=None if past is None else past.seam,
            rules=directory(job.rules or "") if is_followed else None,
            **sinks,
        )

    return follow(console, job, rows.sparkSession, start)


def _is_followed(job: Job) -> bool:
    """Whether the job runs on, and takes up changes of its rules."""
    return job.stream is not None and not job.stream.flush and job.stream.trigger != "available now"


def _given(job: Job, known: tuple[str, ...]) -> dict[str, Any]:
    """The arguments of `match`, from `[match]`; keys and measures belong to the rules."""
    other = next((name for name in job.match if name not in known and name not in LIMITS), None)
    if other is not None:
        raise InputError(
            f"[match]: {other} is not for a directory of rules.\n"
            f"  Each rule file has its own key and measures; here are {', '.join(known)} and limits."
        )
    limits = Limits(**{name: value for name, value in job.match.items() if name in LIMITS})
    return {**{name: value for name, value in job.match.items() if name in known}, "limits": limits}
