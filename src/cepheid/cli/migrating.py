"""`cepheid migrate CHECKPOINT --buckets N`: another number of buckets for the state of a stream that has been stopped.

In: the path of a checkpoint. Out: the same checkpoint, with which the next start goes on.
"""

from __future__ import annotations

import argparse
from typing import Any

from cepheid.errors import InputError

_EPILOG = """\
examples:
  cepheid migrate state/shoplifting --buckets 16

Stop the query first. The next start goes on where it stopped; leave buckets out there, or give the same number.
If the command is interrupted, run it again.
"""


def add_to(commands: Any) -> None:
    """Add the command to a parser."""
    migrate = commands.add_parser(
        "migrate",
        help="change the number of buckets in which a stopped stream keeps its state",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    migrate.add_argument("checkpoint", metavar="CHECKPOINT", help="the directory, on any file system that Spark reads")
    migrate.add_argument(
        "--buckets",
        metavar="N",
        type=int,
        required=True,
        help="how many there shall be, more or fewer than now; of a set of rules, for each key",
    )
    migrate.set_defaults(run=_migrate)


def _migrate(arguments: argparse.Namespace) -> int:
    from cepheid.spark.embedded import job_session
    from cepheid.spark.rules.kept import kept_rules_plan
    from cepheid.spark.stream.checkpoint.layout import Checkpoint
    from cepheid.spark.stream.checkpoint.saved_plan import any_kept_plan, kept_text
    from cepheid.spark.stream.moving import migrate

    if arguments.buckets < 1:
        raise InputError(f"--buckets {arguments.buckets} is not a number of buckets.\n  Give 8, for example.")
    with job_session("cepheid migrate", {}) as session:
        place = Checkpoint(session, arguments.checkpoint)
        plan = kept_rules_plan(place) if "rules" in kept_text(place) else any_kept_plan(place)
        identity = migrate(plan, place, arguments.buckets)
    keys = len(identity.buckets) // arguments.buckets
    each = f" for each of {keys} keys" if keys > 1 else ""
    print(f"{arguments.buckets} buckets{each}; start the query again to go on")
    return 0
