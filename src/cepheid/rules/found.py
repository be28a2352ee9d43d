"""What a set of rules found in rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cepheid.explain.results import FEW, counted, to_html, to_text
from cepheid.options import count, yes_or_no
from cepheid.rows.in_memory import listed
from cepheid.rule import unknown_rule

if TYPE_CHECKING:
    from cepheid.explain.found import FoundRows


class FoundByRules:
    """The matches of all rules. It iterates over them, has a length, and displays itself in a notebook;
    `found["theft"]` is what that rule finds by itself, with a column for each of its variables."""

    def __init__(self, tables: Mapping[str, pa.Table], singles: Mapping[str, Callable[[], FoundRows]]) -> None:
        self._tables = tables
        self._singles = singles
        self._asked: dict[str, FoundRows] = {}

    @cached_property
    def matches_table(self) -> pa.Table:
        """One row per match, rule by rule: `rule`, the key, `match_id`, `start_time`, `end_time`, `events`, `measures`,
        `severity` and `tags`."""
        return pa.concat_tables(self._tables.values())

    @property
    def matches(self) -> list[dict[str, Any]]:
        """The matches as dicts; `measures` is a dict from name to text."""
        return [
            {**match, **({"measures": dict(match["measures"])} if "measures" in match else {})}
            for match in listed(self.matches_table, "matches_table")
        ]

    @property
    def counts(self) -> dict[str, int]:
        """How many matches each rule has."""
        return {name: table.num_rows for name, table in self._tables.items()}

    def __getitem__(self, name: str) -> FoundRows:
        if name not in self._singles:
            raise unknown_rule(name, self._singles)
        if name not in self._asked:
            self._asked[name] = self._singles[name]()
        return self._asked[name]

    def __len__(self) -> int:
        return sum(self.counts.values())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.matches)

    def __bool__(self) -> bool:
        return len(self) > 0

    def show(self, n: int = 20, truncate: bool = True) -> None:
        """Print the first `n` matches as a table; `truncate=False` prints whole cells."""
        few, truncate = count(n, "n"), yes_or_no(truncate, "truncate")
        names = self.matches_table.column_names
        if names:
            print(to_text(names, self.matches[:few], whole=not truncate))
        more = f"; the first {few:,} are shown" if len(self) > few else ""
        print(f"{counted(len(self), names)}{more}")

    def _repr_html_(self) -> str:
        names = self.matches_table.column_names
        more = f"the first {FEW}; found.matches_table has all of them" if len(self) > FEW else ""
        return to_html(names, self.matches[:FEW], counted(len(self), names), more)

    def __repr__(self) -> str:
        return f"FoundByRules({', '.join(f'{name}: {number}' for name, number in self.counts.items())})"
