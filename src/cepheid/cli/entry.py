"""Arguments in, an exit code out.

Exit codes: 0 done; 1 a check did not hold; 2 the command, the pattern, the job or the data is wrong; 3 Spark or the
system failed; 130 interrupted. Errors are told in one screen; `--debug` shows where they arose.
"""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, TextIO

from cepheid import __version__
from cepheid.cli import asking, demonstration, migrating, preparing, querying, rules, running, showing, state, studio
from cepheid.cli.failures import told
from cepheid.errors import CepheidError

DONE, NOT_SO, WRONG, FAILED, INTERRUPTED = 0, 1, 2, 3, 130

_EXAMPLES = """\
examples:
  cepheid demo
  cepheid explain pattern.json
  cepheid diagram pattern.json -o pattern.svg
  cepheid check readings.parquet pattern.json --partition-by tag --order-by ts
  cepheid check rules/
  cepheid test rules/
  cepheid run job.toml --set sinks.matches.path=out/today
  cepheid sql v-shapes.sql --table prices=prices.parquet
  cepheid state state/shoplifting
  cepheid migrate state/shoplifting --buckets 16
  cepheid prepare --spark /opt/spark/classes.jsa
  cepheid why job.toml --key tag=watch
  cepheid studio readings.csv
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code says whether it succeeded."""
    parser = _parser()
    if not (sys.argv[1:] if arguments is None else arguments):
        parser.print_help(sys.stderr)
        return WRONG
    chosen = parser.parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return int(chosen.run(chosen))
    except KeyboardInterrupt as interrupt:
        print(f"cepheid: interrupted; {interrupt}" if str(interrupt) else "cepheid: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        sys.stderr.close()
        return DONE
    except Exception as error:
        if chosen.debug:
            traceback.print_exc()
        else:
            print(f"cepheid: {told(error)}", file=sys.stderr)
        return WRONG if isinstance(error, CepheidError | FileNotFoundError) else FAILED


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning as the errors are shown; where in the program it arose is nothing to a user of the command line."""
    if issubclass(category, UserWarning):
        print(f"cepheid: warning: {message}", file=sys.stderr)


class _Script(argparse.Action):
    """Where the command line lies as a file: `spark-submit` takes one whose name ends with .py."""

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> NoReturn:
        print(Path(__file__).with_name("__main__.py"))
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cepheid",
        description="Complex event processing for Apache Spark.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"cepheid {__version__}")
    parser.add_argument("--script", action=_Script, nargs=0, help="print the path to give to spark-submit")
    parser.set_defaults(debug=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    running.add_to(commands)
    querying.add_to(commands)
    state.add_to(commands)
    migrating.add_to(commands)
    preparing.add_to(commands)
    asking.add_to(commands)
    studio.add_to(commands)
    showing.add_to(commands)
    rules.add_to(commands)
    demonstration.add_to(commands)
    for command in commands.choices.values():
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser
