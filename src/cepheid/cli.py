"""The command line: `cepheid demo`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from cepheid import __version__
from cepheid.errors import CepheidError

_SHOWN = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code says whether it succeeded."""
    parser = argparse.ArgumentParser(prog="cepheid", description="Complex event processing for Apache Spark.")
    parser.add_argument("--version", action="version", version=f"cepheid {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="find shoplifting in a made-up shop and compare with the truth")
    demo.add_argument("--tags", type=int, default=200_000, help="how many things the shop has (default: 200000)")
    demo.add_argument("--seed", type=int, default=7, help="which shop is made up (default: 7)")
    demo.set_defaults(run=_demo)
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.run(chosen))
    except CepheidError as error:
        print(f"cepheid: {error}", file=sys.stderr)
        return 2


def _demo(arguments: argparse.Namespace) -> int:
    from cepheid.demo import SHOPLIFTING, open_shop

    console = Console()
    shop = open_shop(arguments.tags, arguments.seed)
    console.print(f"{shop.readings.num_rows:,} readings of {arguments.tags:,} tags. Looking for:", highlight=False)
    console.print(f"  {SHOPLIFTING}", highlight=False, markup=False)
    begun = time.perf_counter()
    found = SHOPLIFTING.match_events(shop.readings, partition_by="tag", order_by="ts")
    seconds = time.perf_counter() - begun
    table = Table("tag", "last on the shelf", "at the exit")
    for match in found.matches[:_SHOWN]:
        table.add_row(match["tag"], str(match["shelf"]["ts"]), str(match["exit"]["ts"]))
    console.print(table)
    stolen = set(found.matches_table["tag"].to_pylist())
    right = stolen == shop.stolen
    console.print(
        f"{len(stolen):,} stolen tags in {seconds:.1f} s; "
        + ("exactly those that were stolen." if right else f"but {len(shop.stolen):,} were stolen: this is a defect."),
        highlight=False,
    )
    return 0 if right else 1
