"""`cepheid demo`: the main job, on a made-up shop, compared with the truth."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from cepheid.cli.bars import task_bar

_SHOWN = 5


def add_to(commands: Any) -> None:
    """Add the command to a parser."""
    demo = commands.add_parser(
        "demo",
        help="find shoplifting in a made-up shop and check the answer",
        epilog="example: cepheid demo --tags 20000 --in-memory",
    )
    demo.add_argument(
        "--tags", type=_at_least(1), default=215_000, help="how many items the shop has (default: 215000)"
    )
    demo.add_argument("--seed", type=_at_least(0), default=7, help="which shop to make up (default: 7)")
    demo.add_argument("--in-memory", action="store_true", help="run without Spark, on rows in memory")
    demo.add_argument("--output", default="build/demo", help="where to write the matches (default: build/demo)")
    demo.set_defaults(run=_demo)


def _at_least(least: int) -> Callable[[str], int]:
    def number(given: str) -> int:
        if not given.isdecimal() or int(given) < least:
            raise argparse.ArgumentTypeError(f"{given!r} is not a whole number of {least} or more")
        return int(given)

    return number


def _demo(arguments: argparse.Namespace) -> int:
    """The main job: shoplifting on embedded Spark, or on rows in memory, compared with the truth."""
    from cepheid.demo import SHOPLIFTING, match_in_memory, match_on_spark, open_shop

    console = Console()
    shop = open_shop(arguments.tags, arguments.seed)
    console.print(f"{shop.readings.num_rows:,} readings of {arguments.tags:,} tags. Looking for:", highlight=False)
    console.print(f"  {SHOPLIFTING}", highlight=False, markup=False, soft_wrap=True)
    if arguments.in_memory:
        with console.status("in memory"):
            found = match_in_memory(shop, arguments.output)
    else:
        found = match_on_spark(shop, arguments.output, lambda session: task_bar(console, session, "on Spark"))
    table = Table("tag", "last on the shelf", "at the exit")
    for tag, shelf, left in found.rows[:_SHOWN]:
        table.add_row(tag, str(shelf), str(left))
    console.print(table)
    stolen = {tag for tag, _, _ in found.rows}
    right = stolen == shop.stolen
    console.print(
        f"{shop.readings.num_rows:,} readings, {len(found.rows):,} matches, {len(stolen):,} stolen tags in "
        f"{found.seconds:.1f} s; "
        + ("exactly those that were stolen." if right else f"but {len(shop.stolen):,} were stolen: this is a defect."),
        highlight=False,
        soft_wrap=True,
    )
    if found.written_to is not None:
        console.print(f"The matches are in {found.written_to} (Parquet).", highlight=False)
    console.print(f"Some of them on a time axis, for the browser: {found.drawn_at}", highlight=False, soft_wrap=True)
    return 0 if right else 1
