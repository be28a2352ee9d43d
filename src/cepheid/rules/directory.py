"""A directory of rule files: read as a whole, or file by file with what is wrong set apart.

In: a path. Out: `Contents`: the rules, and the files that were rejected, with the reason. A stream that watches a
directory reads it again between micro-batches; `fingerprint` says cheaply whether anything has changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from cepheid.errors import CepheidError, InputError
from cepheid.options import path_of
from cepheid.rule import AnyRule
from cepheid.rules.files import RuleFile, read_file
from cepheid.rules.pattern_set import PatternSet

ENDING = "*.toml"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A file whose rule cannot be used."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Contents:
    """What the files of a directory say."""

    path: str
    files: tuple[RuleFile, ...]
    rejected: tuple[Rejected, ...]

    def rules(self) -> PatternSet:
        """The rules of the files that are right."""
        return PatternSet([file.rule for file in self.files])

    def whole(self) -> PatternSet:
        """All rules; an error that lists everything that is wrong if anything is."""
        if self.rejected:
            number = len(self.rejected)
            many = f"{number} rules of {self.path} are wrong" if number > 1 else f"a rule of {self.path} is wrong"
            raise InputError(f"{many}:\n" + "\n".join(one.reason for one in self.rejected))
        if not self.files:
            raise InputError(f"{self.path} has no rules.\n  A rule is a file whose name ends with .toml.")
        return self.rules()


class Directory:
    """A directory of rule files, and those below it."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = path_of(path)

    def read(self) -> Contents:
        """What the files say now."""
        if not self.path.is_dir():
            raise InputError(f"there is no directory {str(self.path)!r}.")
        files: list[RuleFile] = []
        rejected: list[Rejected] = []
        taken: dict[str, str] = {}
        for place in self._places():
            shown = str(place)
            try:
                file = read_file(place, shown)
            except CepheidError as error:
                rejected.append(Rejected(shown, str(error)))
                continue
            other = taken.setdefault(file.rule.name.lower(), shown)
            if other != shown:
                reason = f"{shown}: {other} has a rule named {file.rule.name!r} already.\n  Give each its own name."
                rejected.append(Rejected(shown, reason))
            else:
                files.append(file)
        return Contents(str(self.path), tuple(files), tuple(rejected))

    def current(self) -> tuple[tuple[AnyRule, ...], tuple[tuple[str, str], ...]]:
        """The rules that can be used, and what cannot: the file, and the reason."""
        contents = self.read()
        rules = tuple(file.rule for file in contents.files)
        return rules, tuple((one.file, one.reason) for one in contents.rejected)

    def fingerprint(self) -> tuple[tuple[str, int, int], ...]:
        """Names, sizes and times of change of all files: another one means that something may have changed."""
        found = []
        for place in self._places():
            try:
                status = place.stat()
            except OSError:  # it has just gone
                continue
            found.append((str(place), status.st_size, status.st_mtime_ns))
        return tuple(found)

    def _places(self) -> list[Path]:
        return sorted(place for place in self.path.rglob(ENDING) if place.is_file())

    def __repr__(self) -> str:
        return f"directory({str(self.path)!r})"


def directory(path: str | PathLike[str]) -> Directory:
    """A directory of rule files, for `start(rules=directory("rules/"))`: the stream follows what changes there."""
    return Directory(path)
