"""What a pattern found in rows in memory, with the pictures of it.

The face returns a `FoundRows`: the engine's `Found`, which knows its pattern and its rows and so can explain and draw
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from cepheid.explain.results import FEW, counted, to_html, to_text
from cepheid.explain.text.document import Explanation
from cepheid.explain.text.execution import Execution
from cepheid.explain.text.explaining import explain
from cepheid.explain.timeline.timelines import Timeline, timeline
from cepheid.options import count, yes_or_no
from cepheid.rows.in_memory import Found, listed
from cepheid.rows.steps import Events
from cepheid.syntax.tree import PatternTree


@dataclass(frozen=True, slots=True)
class Search:
    """What was looked for, and where."""

    tree: PatternTree
    events: Events
    order_by: tuple[str, ...]


class FoundRows(Found):
    """What a pattern found in rows. It iterates over the matches, has a length, and displays itself in a notebook."""

    def __init__(
        self,
        found: Found,
        search: Search,
        whole: Callable[[], Found] | None = None,
        counts: Callable[[], pa.Table] | None = None,
    ) -> None:
        super().__init__(found.matches_table, lambda: found.timeouts_table)
        self._search = search
        self._counts = counts
        self._whole = whole
        """The same search with whole events, where measures or other rows were asked for."""

    def __len__(self) -> int:
        return int(self.matches_table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.matches)

    def __bool__(self) -> bool:
        """Whether anything was found."""
        return len(self) > 0

    def count(self) -> int:
        """How many rows `matches` has."""
        return len(self)

    def counts(self) -> pa.Table:
        """How many matches end with each event, and the totals of measures over all of them, as an Arrow table.

        `pattern.count_events` gives the same without looking for the matches first.
        """
        return pa.table({}) if self._counts is None else self._counts()

    def to_arrow(self) -> pa.Table:
        """The matches as an Arrow table."""
        return self.matches_table

    def to_pandas(self) -> Any:
        """The matches as a pandas DataFrame."""
        return self.matches_table.to_pandas()

    def show(self, n: int = 20, truncate: bool = True) -> None:
        """Print the first `n` matches as a table; `truncate=False` prints whole cells."""
        few, truncate = count(n, "n"), yes_or_no(truncate, "truncate")
        names = self.matches_table.column_names
        if names:
            print(to_text(names, listed(self.matches_table.slice(0, few), "matches_table"), whole=not truncate))
        more = f"; the first {few:,} are shown" if len(self) > few else ""
        print(f"{counted(len(self), names)}{more}")

    def _repr_html_(self) -> str:
        names = self.matches_table.column_names
        rows = listed(self.matches_table.slice(0, FEW), "matches_table")
        more = f"the first {FEW}; found.to_pandas() has all of them" if len(self) > FEW else ""
        return to_html(names, rows, counted(len(self), names), more)

    def timeline(self, n: int = 10) -> Timeline:
        """Draw matches and events of up to `n` partitions on a time axis."""
        search = self._search
        found: Found = self if self._whole is None else self._whole()
        further = [name for name in search.events.columns if name not in search.events.partition_by]
        return timeline(
            found.matches_table,
            events=search.events.table.select([*search.events.partition_by, *further]),
            pattern=search.tree,
            partition_by=search.events.partition_by,
            order_by=search.order_by,
            n=n,
        )

    def explain(self) -> Explanation:
        """Explain what the pattern means and how it ran on these rows."""
        search = self._search
        execution = Execution(
            "this process, on rows in memory",
            columns=search.events.columns,
            rows=f"{search.events.table.num_rows:,}",
            further=(
                (
                    "key",
                    " ".join(search.events.keys)
                    or ", ".join(search.events.partition_by)
                    or "none: all rows are one sequence",
                ),
                ("order", ", ".join(search.order_by) or "as the rows came"),
            ),
        )
        return explain(search.tree, search.events.schema, execution)
