"""`cepheid sql FILE`: run a query with MATCH_RECOGNIZE, show or write what it gives.

In: a file with a query, or its text; tables as files. Out: a table on the terminal, or files.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from cepheid.cli.files import is_file, text_of
from cepheid.errors import InputError

_EPILOG = """\
examples:
  cepheid sql v-shapes.sql --table prices=prices.parquet
  cepheid sql v-shapes.sql --table prices=prices.csv -o out/v-shapes --rows 50
  cepheid sql "SELECT * FROM shop.orders MATCH_RECOGNIZE (...) AS m"
"""
_OPTIONS = {"csv": {"header": "true", "inferSchema": "true"}}


def add_to(commands: Any) -> None:
    """Add the command to a parser."""
    query = commands.add_parser(
        "sql",
        help="run a query with MATCH_RECOGNIZE",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    query.add_argument("query", metavar="FILE", help="a file with the query, or the query itself")
    query.add_argument(
        "--table",
        metavar="NAME=PATH",
        action="append",
        default=[],
        dest="tables",
        help="a table of the query: Parquet, .csv, .json or .orc, a file or a directory",
    )
    query.add_argument("-o", "--output", metavar="PATH", help="write the result there instead of showing it")
    query.add_argument("--format", default="parquet", help="of the output, any that Spark writes; default: parquet")
    query.add_argument("--rows", metavar="N", type=int, default=20, help="how many rows are shown; default: 20")
    query.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from cepheid.row_pattern import sql
    from cepheid.spark.embedded import job_session
    from cepheid.spark.jobs import read_rows, write_rows

    text = _query(arguments.query)
    tables = dict(map(_table, arguments.tables))
    with job_session("cepheid sql", {}) as session:
        given = {}
        for name, path in tables.items():
            form = Path(path).suffix.removeprefix(".") or "parquet"
            given[name] = read_rows(session, form, [path], None, None, None, _OPTIONS.get(form, {}))
        result = sql(text, session, **given)
        if arguments.output is None:
            result.show(arguments.rows, truncate=False)
        else:
            write_rows(result, arguments.format, arguments.output, None, "overwrite", {}, ())
    return 0


def _query(given: str) -> str:
    """The text of the query, without a semicolon at its end."""
    if is_file(given):
        given = text_of(given)
    elif not any(sign.isspace() for sign in given.strip()):
        raise InputError(f"there is no file {given!r}.\n  Give a file with a query, or the query itself.")
    return given.rstrip().removesuffix(";")


def _table(given: str) -> tuple[str, str]:
    name, sign, path = given.partition("=")
    if not sign or not name.isidentifier() or not path:
        raise InputError(
            f"--table {given!r} does not say which name belongs to which file.\n  Write --table prices=prices.parquet."
        )
    return name, path
