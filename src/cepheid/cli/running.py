"""`cepheid run JOB.toml`: read rows, match a pattern, write what is found.

In: a job. Out: files or tables, a progress bar while it runs, counts at the end.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from cepheid.cli.colours import coloured
from cepheid.cli.job_file import read_job
from cepheid.cli.patterns import load_pattern, load_row_pattern
from cepheid.cli.reading_writing import tables_of, write
from cepheid.cli.row_patterns import run_clause
from cepheid.cli.rule_jobs import run_rules
from cepheid.cli.streams import run_stream

_EPILOG = """\
a job:
  [source]
  path = "readings/"                # or table = "shop.readings"
  format = "parquet"                # any that Spark reads; options = { header = true }; schema = "tag STRING, ..."
  where = "tag IS NOT NULL"         # optional
  stream = true                     # for a stream

  [sources.net]                     # instead of [source]: a table for each element, with the keys of [source]
  path = "network/"                 # elements = ["net", "scan"] if several elements share it

  [pattern]
  file = "shoplifting.json"         # beside the job, SASE or JSON; or text = "EVENT SEQ(...) ..."
                                    # or what MATCH_RECOGNIZE holds: "PARTITION BY ... PATTERN (...) DEFINE ..."

  [rules]                           # instead of [pattern]: a directory of rule files, which a stream follows
  directory = "rules/"

  [parameters]                      # values for :limit and the like in conditions
  limit = 100

  [match]                           # the arguments of Pattern.match
  partition_by = "tag"              # or by element: { ip = { net = "host_ip", pipe = "source_ip" } }
  order_by = "ts"
  measures = { left = "LAST(exit.ts)" }
  watermark = "10 minutes"          # streams: how late events may come; or time = "arrival"

  [sinks.matches]                   # and timeouts, broken, unmatched; streams: late, rejected
  path = "out/matches"              # or table = "...", or format = "console"
  mode = "overwrite"

  [sinks.timeline]                  # batch: some matches on a time axis
  path = "out/timeline.html"

  [stream]                          # streams only
  checkpoint = "state/shoplifting"
  trigger = "10 seconds"            # or "available now"
  flush = false                     # true: process everything available, then end the input
  idle = "30 seconds"               # optional: so long without events, and time moves on with the clock
  on_error = "stop"                 # or "skip_moment", "skip_key": reject events that exceed a limit, and go on

  [history]                         # streams: events before the first ones, with the keys of [source]
  path = "archive/"
  seam = "2025-03-01 00:00:00"      # optional: the history counts before this moment, the stream from it on

  [spark]                           # settings, as spark-submit --conf takes them
  spark.sql.shuffle.partitions = 64

examples:
  cepheid run job.toml
  cepheid run job.toml --set sinks.matches.path=out/today --set match.buckets=16
  spark-submit --master yarn "$(cepheid --script)" run job.toml
"""


def add_to(commands: Any) -> None:
    """Add the command to a parser."""
    run = commands.add_parser(
        "run",
        help="run a job: a source, a pattern and sinks",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument("job", metavar="JOB.toml", help="the job")
    run.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], dest="changes", help="set a key of the job"
    )
    run.add_argument("--explain", action="store_true", help="explain how the job would run, without running it")
    run.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cepheid.spark.batch import Found
    from cepheid.spark.embedded import job_session
    from cepheid.spark.jobs import counted
    from cepheid.spark.stream.found import FoundInStream

    job = read_job(arguments.job, arguments.changes)
    if job.rules is not None:
        return run_rules(arguments, job)
    clause = load_row_pattern(job.pattern)
    if clause is not None:
        return run_clause(arguments, job, clause)
    pattern = load_pattern(job.pattern, job.type_column).bind(**job.parameters)
    console = Console(stderr=True, highlight=False)
    with job_session(f"cepheid {Path(arguments.job).name}", job.spark) as session:
        tables = tables_of(session, job)
        found = pattern.match(tables.get("", tables), **job.match)
        if arguments.explain:
            Console(highlight=False).print(coloured(found.explain()))
            return 0
        if isinstance(found, FoundInStream):
            return run_stream(console, job, found)
        for name, sink in job.sinks.items():
            events = {
                id(rows): counted(rows, f"events of {name} {number}") for number, rows in enumerate(tables.values())
            }
            given = {element: events[id(rows)].rows for element, rows in tables.items()}
            matched = pattern.match(given.get("", given), **job.match)
            assert isinstance(matched, Found)
            write(console, name, sink, tuple(events.values()), getattr(matched, name))
        if job.timeline is not None:
            path, n = job.timeline
            console.print(f"timeline: {found.timeline(n).save(path)}", soft_wrap=True)
    return 0
