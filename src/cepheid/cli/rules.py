"""`cepheid check RULES` and `cepheid test RULES`: a directory of rule files, for continuous integration.

In: the path of a directory. Out: a line for each file, and exit code 0 only if all are right. No Spark is started.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console

from cepheid.errors import CepheidError, InputError
from cepheid.rules.directory import Contents, Directory


def add_to(commands: Any) -> None:
    """Add the command to a parser."""
    test = commands.add_parser(
        "test",
        help="run the examples in rule files",
        epilog="example: cepheid test rules/",
    )
    test.add_argument("rules", metavar="RULES", help="a directory of rule files")
    test.set_defaults(run=_test)


def check_rules(path: str) -> int:
    """Say which rules are right; 1 if some are not."""
    contents = _read(path)
    console = Console(highlight=False, soft_wrap=True)
    for file in contents.files:
        key = f"by {', '.join(file.rule.partition_by)}" if file.rule.partition_by else "no key"
        tests = f"{len(file.examples)} example{'' if len(file.examples) == 1 else 's'}"
        console.print(f"ok     {file.path}: {file.rule.name}, {key}, {tests}", markup=False)
    for one in contents.rejected:
        console.print(f"wrong  {one.reason}", markup=False)
    _say(console, len(contents.files), "rule", "right", len(contents.rejected), "wrong")
    return 1 if contents.rejected else 0


def _read(path: str) -> Contents:
    if Path(path).is_file():
        remedy = f"Give a directory of rule files, or a pattern too: cepheid check {path} PATTERN."
        raise InputError(f"{path!r} is a file.\n  {remedy}")
    contents = Directory(path).read()
    if not contents.files and not contents.rejected:
        raise InputError(f"{path} has no rules.\n  A rule is a file whose name ends with .toml.")
    return contents


def _test(arguments: argparse.Namespace) -> int:
    contents = _read(arguments.rules)
    console = Console(highlight=False, soft_wrap=True)
    passed = failed = 0
    for one in contents.rejected:
        console.print(f"wrong  {one.reason}", markup=False)
    for file in contents.files:
        if not file.examples:
            console.print(f"none   {file.path}: no examples", markup=False)
        for example in file.examples:
            try:
                difference = example.difference(file.rule)
            except CepheidError as error:
                difference = str(error)
            passed, failed = passed + (difference is None), failed + (difference is not None)
            console.print(f"{'ok    ' if difference is None else 'failed'} {file.path}: {example.name}", markup=False)
            for line in (difference or "").splitlines():
                console.print(f"         {line}", markup=False)
    _say(console, passed, "example", "passed", failed + len(contents.rejected), "failed")
    return 1 if failed or contents.rejected or not passed else 0


def _say(console: Console, good: int, what: str, how: str, bad: int, wrong: str) -> None:
    console.print(f"{good} {what}{'' if good == 1 else 's'} {how}, {bad} {wrong}")
