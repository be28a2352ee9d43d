"""`cepheid why JOB.toml`: why the pattern of a job finds what it finds, and not more.

In: a job, and the key to ask about, if any. Out: counts, likely causes and the runs that came furthest, as text.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from cepheid.cli.job_file import read_job
from cepheid.cli.patterns import load_pattern
from cepheid.errors import InputError

_EPILOG = """\
examples:
  cepheid why job.toml
  cepheid why job.toml --key tag=watch
  cepheid why job.toml --key tag=watch --set source.path=readings/today

Conditions are counted over all rows of the source; runs are followed for the key asked for, or for a few keys in
which the most elements have events. The source of a stream is read as a batch.
"""


def add_to(commands: Any) -> None:
    """Add the command to a parser."""
    why = commands.add_parser(
        "why",
        help="say why a job's pattern matches what it does, and not more",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    why.add_argument("job", metavar="JOB.toml", help="the job")
    why.add_argument(
        "--key", metavar="COLUMN=VALUE", action="append", default=[], dest="keys", help="ask about one key only"
    )
    why.add_argument(
        "--rows", metavar="N", type=int, default=10_000, help="follow the runs of up to N rows; default: 10000"
    )
    why.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], dest="changes", help="set a key of the job"
    )
    why.set_defaults(run=_why)


def _why(arguments: argparse.Namespace) -> int:
    from cepheid.spark.embedded import job_session
    from cepheid.spark.jobs import read_rows

    key = dict(map(_key, arguments.keys))
    job = read_job(arguments.job, arguments.changes)
    pattern = load_pattern(job.pattern, job.type_column).bind(**job.parameters)
    source, match = job.source, job.match
    with job_session(f"cepheid why {Path(arguments.job).name}", job.spark) as session:
        rows = read_rows(session, source.format, source.path, source.table, source.schema, source.where, source.options)
        why = pattern.why(
            rows,
            partition_by=match.get("partition_by"),
            order_by=match.get("order_by"),
            key=key or None,
            most_rows=arguments.rows,
            nulls=match.get("nulls", "drop" if source.is_stream else "error"),
        )
    print(why)
    return 0


def _key(given: str) -> tuple[str, str]:
    name, sign, value = given.partition("=")
    if not sign or not name:
        raise InputError(f"--key {given!r} does not say which column has which value.\n  Write --key tag=watch.")
    return name, value
