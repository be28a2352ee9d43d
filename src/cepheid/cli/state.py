"""`cepheid state CHECKPOINT`: whose state a stream has kept, how far it is, and which partial matches wait.

In: the path of a checkpoint, whether its query runs or not. Out: facts and a table as text.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from cepheid.errors import StateError

if TYPE_CHECKING:
    from cepheid.spark.embedded import SparkSession

_EPILOG = """\
examples:
  cepheid state state/shoplifting
  cepheid state state/shoplifting --runs 50
  cepheid state hdfs://shop/state --runs 0     # without reading the state itself, which may be large
"""


def add_to(commands: Any) -> None:
    """Add the command to a parser."""
    state = commands.add_parser(
        "state",
        help="show which pattern a checkpoint belongs to, how far its stream has come, and what is waiting",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    state.add_argument("checkpoint", metavar="CHECKPOINT", help="the directory, on any file system that Spark reads")
    state.add_argument(
        "--runs",
        metavar="N",
        type=int,
        default=10,
        help="how many live runs to show, oldest first (default: 10); 0: only say how many there are",
    )
    state.set_defaults(run=_state)


def _state(arguments: argparse.Namespace) -> int:
    from cepheid.spark.embedded import job_session
    from cepheid.spark.stream.checkpoint.facts import checkpoint_facts
    from cepheid.spark.stream.state.totals import totals

    console = Console(highlight=False, soft_wrap=True)
    with job_session("cepheid state", {}) as session:
        facts = checkpoint_facts(session, arguments.checkpoint)
        width = max(len(what) for what, _ in facts)
        for what, how in facts:
            console.print(f"{what:<{width}}  {how}", markup=False)
        is_begun = dict(facts)["last micro-batch"] != "none yet"
        if not is_begun:
            return 0
        held, most = totals(session, arguments.checkpoint), arguments.runs
        console.print(f"{'waiting events':<{width}}  {held.pending:,}, which the watermark has not passed")
        console.print(
            f"{'live runs':<{width}}  {held.runs:,}" + (f", the oldest {most}:" if held.runs > most > 0 else "")
        )
        if most > 0 and held.runs:
            try:
                _show(console, session, arguments.checkpoint, most)
            except StateError as error:
                console.print(f"{'':<{width}}  not shown: {error}", markup=False)
    return 0


def _show(console: Console, session: SparkSession, checkpoint: str, most: int) -> None:
    from cepheid.spark.stream.state.reader import StateReader

    reader = StateReader.open(session, checkpoint)
    table = Table(*reader.key, "since", "last event", "has taken", "waits for", "until")
    for row in reader.runs().orderBy("start_time", "last_time").limit(most).collect():
        taken = " ".join(one["variable"] for one in row["taken"])
        waits = " or ".join(row["waits_for"])
        times = [str(row[name]) for name in ("start_time", "last_time")]
        until = "no end" if row["until"] is None else str(row["until"])
        table.add_row(*(str(row[name]) for name in reader.key), *times, taken, waits, until)
    console.print(table)
