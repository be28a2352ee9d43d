"""What a pattern found in rows in memory, with the pictures of it.

The face returns a `FoundRows`: the engine's `Found`, which knows its pattern and its rows and so can explain and draw
itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from cepheid.conditions import Schema
from cepheid.explain.text.document import Explanation
from cepheid.explain.text.execution import Execution
from cepheid.explain.text.explaining import explain
from cepheid.explain.timeline.timelines import Timeline, timeline
from cepheid.rows.in_memory import Found
from cepheid.syntax.tree import PatternTree


@dataclass(frozen=True, slots=True)
class Search:
    """What was looked for, and where."""

    tree: PatternTree
    rows: pa.Table
    partition_by: tuple[str, ...]
    order_by: tuple[str, ...]
    time_zone: str = "UTC"


class FoundRows(Found):
    """What a pattern found in rows in memory: matches and timeouts, an explanation and a timeline."""

    def __init__(self, found: Found, search: Search) -> None:
        super().__init__(found.matches_table, lambda: found.timeouts_table)
        self._search = search

    def timeline(self, n: int = 10) -> Timeline:
        """Draw matches and events of up to `n` partitions on a time axis."""
        search = self._search
        return timeline(
            self.matches_table,
            events=search.rows,
            pattern=search.tree,
            partition_by=search.partition_by,
            order_by=search.order_by,
            n=n,
        )

    def explain(self) -> Explanation:
        """Explain what the pattern means and how it ran on these rows."""
        search = self._search
        execution = Execution(
            "this process, on rows in memory",
            columns=tuple(search.rows.column_names),
            rows=f"{search.rows.num_rows:,}",
            further=(
                ("key", ", ".join(search.partition_by) or "none: all rows are one sequence"),
                ("order", ", ".join(search.order_by) or "as the rows came"),
            ),
        )
        return explain(search.tree, Schema.from_arrow(search.rows.schema, search.time_zone), execution)
