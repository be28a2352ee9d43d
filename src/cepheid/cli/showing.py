"""`cepheid explain`, `cepheid diagram` and `cepheid check`: what a pattern means, without running it.

In: arguments. Out: text or a picture. No Spark is started.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from cepheid.cli.colours import coloured
from cepheid.cli.files import exists
from cepheid.cli.patterns import HELP, load_pattern
from cepheid.cli.rules import check_rules
from cepheid.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_FORMATS = {".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot", ".txt": "text"}


def add_to(commands: Any) -> None:
    """Add the commands to a parser."""
    explain = commands.add_parser(
        "explain",
        help="explain what a pattern means and how it runs",
        epilog="example: cepheid explain pattern.json",
    )
    explain.add_argument("pattern", metavar="PATTERN", help=HELP)
    explain.add_argument("--html", action="store_true", help="as HTML, as in a notebook")
    explain.set_defaults(run=_explain)
    diagram = commands.add_parser(
        "diagram",
        help="draw a pattern",
        epilog="examples:\n  cepheid diagram pattern.json -o pattern.svg\n"
        "  cepheid diagram pattern.json --format text\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    diagram.add_argument("pattern", metavar="PATTERN", help=HELP)
    diagram.add_argument("-o", "--output", metavar="FILE", help="the file to write; its ending selects the format")
    diagram.add_argument("--format", choices=["svg", "mermaid", "dot", "text"], help="default: text, or as FILE ends")
    diagram.add_argument("--of", choices=["pattern", "automaton"], default="pattern", help="what to draw")
    diagram.set_defaults(run=_diagram)
    check = commands.add_parser(
        "check",
        help="check a pattern against the columns of data, or a directory of rules, without running it",
        epilog="examples:\n  cepheid check readings.parquet pattern.json --partition-by tag --order-by ts\n"
        "  cepheid check rules/\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.add_argument(
        "data",
        metavar="DATA",
        help="a Parquet, .csv or .json file, or a directory of Parquet; or a directory of rule files",
    )
    check.add_argument("pattern", metavar="PATTERN", nargs="?", help=f"{HELP}; left out for a directory of rule files")
    check.add_argument("--partition-by", metavar="COLUMN", nargs="+", default=[], help="the key of the events")
    check.add_argument("--order-by", metavar="COLUMN", nargs="+", default=[], help="the time, then tie-breakers")
    check.set_defaults(run=_check)
    for command in (explain, diagram, check):
        command.add_argument("--type-column", metavar="COLUMN", help="for SASE text: the column with the event types")


def _explain(arguments: argparse.Namespace) -> int:
    explanation = load_pattern(arguments.pattern, arguments.type_column).explain()
    if arguments.html:
        print(explanation._repr_html_())
    else:
        Console(highlight=False).print(coloured(explanation))
    return 0


def _diagram(arguments: argparse.Namespace) -> int:
    ending = Path(arguments.output).suffix.lower() if arguments.output else ""
    if arguments.format is None and arguments.output and ending not in _FORMATS:
        raise InputError(
            f"--output {arguments.output} has no ending that says its format.\n"
            f"  Use one of {', '.join(_FORMATS)}, or give --format."
        )
    form: Any = arguments.format or _FORMATS.get(ending, "text")
    drawn = load_pattern(arguments.pattern, arguments.type_column).diagram(form, of=arguments.of)
    if arguments.output is None:
        sys.stdout.write(str(drawn))
        return 0
    try:
        Path(arguments.output).parent.mkdir(parents=True, exist_ok=True)
        print(drawn.save(arguments.output))
    except OSError as error:
        raise InputError(f"--output {arguments.output} cannot be written: {error.strerror or error}.") from None
    return 0


def _check(arguments: argparse.Namespace) -> int:
    if arguments.pattern is None:
        return check_rules(arguments.data)
    from cepheid.conditions import Schema, bind
    from cepheid.explain import explain
    from cepheid.rows.columns import column_named, time_unit
    from cepheid.rows.in_memory import check_units

    schema = _schema(arguments.data)
    pattern = load_pattern(arguments.pattern, arguments.type_column)
    given = arguments.partition_by or pattern.tree.partition_by
    keys = [column_named(schema.names, name, "--partition-by") for name in given]
    order = [column_named(schema.names, name, "--order-by") for name in arguments.order_by]
    if order:
        check_units(pattern.tree, time_unit(schema.field(order[0]).type, order[0]), order[0])
    bound = bind(pattern.tree, Schema.from_arrow(schema))
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"The pattern fits the {len(schema.names)} columns of {arguments.data}.")
    console.print(f"  its conditions read: {', '.join(bound.columns) or 'nothing'}", markup=False)
    console.print(f"  key: {', '.join(keys) or 'none'}; order: {', '.join(order) or 'not given, not checked'}")
    for warning in explain(pattern.tree, Schema.from_arrow(schema)).warnings:
        console.print(f"  ! {warning}", markup=False)
    return 0


def _schema(place: str) -> pa.Schema:
    """The columns of a file or directory: Parquet, of which only footers are read, or CSV and JSON lines by their
    ending, of which the first rows are."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    if not place or not exists(place):
        raise InputError(
            f"DATA is {place!r}, which does not exist.\n"
            "  Give a Parquet, .csv or .json file, or a directory of Parquet."
        )
    format = {".csv": "csv", ".json": "json", ".jsonl": "json"}.get(Path(place).suffix.lower(), "parquet")
    try:
        return ds.dataset(place, format=format, partitioning="hive").schema
    except pa.ArrowException as error:
        problem = str(error).splitlines()[0]
        raise InputError(
            f"DATA is {place!r}, which cannot be read as {format}: {problem}\n"
            "  The ending says the format: .csv, .json or .jsonl; anything else is Parquet."
        ) from error
