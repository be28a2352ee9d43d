"""A job whose pattern is a MATCH_RECOGNIZE clause.

In: a job and its clause. Out: as `running`. What a clause says itself, a job must not say again. Called by `running`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from cepheid.cli.colours import coloured
from cepheid.cli.job_file import Job
from cepheid.cli.reading_writing import rows_of, write
from cepheid.cli.streams import run_stream
from cepheid.errors import InputError
from cepheid.options import Limits
from cepheid.row_pattern import RowPattern

_ARGUMENTS = ("buckets", "shuffle", "watermark", "max_ahead")


def run_clause(arguments: argparse.Namespace, job: Job, clause: RowPattern) -> int:
    """Run the job."""
    from cepheid.spark.embedded import job_session
    from cepheid.spark.jobs import counted
    from cepheid.spark.row_patterns import FoundRowPatterns
    from cepheid.spark.stream.row_found import FoundRowsInStream

    given = _checked(job)
    console = Console(stderr=True, highlight=False)
    if arguments.explain:
        Console(highlight=False).print(coloured(clause.explain()))
        return 0
    with job_session(f"cepheid {Path(arguments.job).name}", job.spark) as session:
        rows = rows_of(session, job.source)
        if job.source.is_stream:
            found = clause.match(rows, **given)
            assert isinstance(found, FoundRowsInStream)
            if job.stream is not None and not job.stream.flush:
                found.refuse_the_end()
            return run_stream(console, job, found)
        events = counted(rows, "events of matches")
        matched = clause.match(events.rows, **given)
        assert isinstance(matched, FoundRowPatterns)
        write(console, "matches", job.sinks["matches"], (events,), matched.matches)
    return 0


def _checked(job: Job) -> dict[str, Any]:
    """The arguments of `RowPattern.match`."""
    for what, is_given in (
        *((f"[sinks.{name}]", name in job.sinks) for name in ("timeouts", "broken", "unmatched")),
        ("[sinks.timeline]", job.timeline is not None),
        ("[pattern]: type_column", job.type_column is not None),
        ("[parameters]", bool(job.parameters)),
        ("[sources]", bool(job.sources)),
    ):
        if is_given:
            raise InputError(f"{what} is not for MATCH_RECOGNIZE.\n  Leave it out.")
    if "matches" not in job.sinks and not job.source.is_stream:
        raise InputError(
            'the job has no sink for its matches.\n  For example: [sinks.matches] with path = "out/matches".'
        )
    limits = {name: value for name, value in job.match.items() if name == "max_bucket_bytes"}
    for name in job.match:
        if name not in (*_ARGUMENTS, *limits):
            raise InputError(
                f"[match]: {name} is not for MATCH_RECOGNIZE, whose clause says what is matched.\n"
                f"  Leave it out. You can use: {', '.join((*_ARGUMENTS, 'max_bucket_bytes'))}."
            )
    given = {name: value for name, value in job.match.items() if name in _ARGUMENTS}
    return given | {"limits": Limits(**limits)}
