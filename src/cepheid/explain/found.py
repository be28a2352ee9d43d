"""What a pattern found in rows in memory, with the pictures of it.

The face returns a `FoundRows`: the engine's `Found`, which knows its pattern and its rows and so can explain and draw
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import pyarrow as pa

from cepheid.automaton.model import Automaton
from cepheid.engine.tables.model import Options
from cepheid.errors import InputError
from cepheid.explain.results import FEW, counted, to_html, to_text
from cepheid.explain.text.document import Explanation
from cepheid.explain.text.execution import Execution
from cepheid.explain.text.explaining import explain
from cepheid.explain.timeline.timelines import Timeline, timeline
from cepheid.explain.why.asking import Inquiry, Question, ask, wrong_key
from cepheid.explain.why.document import Why
from cepheid.explain.why.following import MOST_ROWS
from cepheid.explain.why.funnel import Funnel
from cepheid.explain.why.grey import failures_of
from cepheid.explain.why.leftovers import broken, unmatched
from cepheid.explain.why.of_match import WhyMatch, why_match
from cepheid.options import count, yes_or_no
from cepheid.rows.arrange import Arranged
from cepheid.rows.in_memory import Found, listed, prepared, run
from cepheid.rows.steps import Events
from cepheid.syntax.tree import PatternTree


@dataclass(frozen=True, slots=True)
class Search:
    """What was looked for, and where."""

    tree: PatternTree
    events: Events
    order_by: tuple[str, ...]
    nulls: str = "error"
    options: Options = field(default_factory=Options)


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
        self._inquiries: dict[object, Inquiry] = {}

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

    def funnel(self, *, most_rows: int = MOST_ROWS) -> Funnel:
        """How many rows and runs got to each element, and where the others were lost: a table and a picture.

        Runs are followed in up to `most_rows` rows, as by `why`.
        """
        return Funnel(self._inquiry(None, count(most_rows, "most_rows")).account, self._search.tree)

    def timeline(self, n: int = 10, failed: int | None = None, *, most_rows: int = MOST_ROWS) -> Timeline:
        """Draw matches and events of up to `n` partitions on a time axis.

        `failed` runs of each partition that became no match are drawn in grey, with what ended them: those that came
        furthest. Without it, three are drawn where nothing matched. Runs are followed in up to `most_rows` rows.
        """
        search = self._search
        wanted = count(failed, "failed") if failed is not None else 0 if len(self) else 3
        found: Found = self if self._whole is None else self._whole()
        further = [name for name in search.events.columns if name not in search.events.partition_by]
        return timeline(
            found.matches_table,
            events=search.events.table.select([*search.events.partition_by, *further]),
            pattern=search.tree,
            partition_by=search.events.partition_by,
            order_by=search.order_by,
            n=n,
            failures=failures_of(self._inquiry(None, most_rows), wanted) if wanted and search.order_by else (),
        )

    @overload
    def why(
        self, match_id: None = None, *, key: Mapping[str, Any] | None = None, most_rows: int = MOST_ROWS
    ) -> Why: ...

    @overload
    def why(self, match_id: str) -> WhyMatch: ...

    def why(
        self, match_id: str | None = None, *, key: Mapping[str, Any] | None = None, most_rows: int = MOST_ROWS
    ) -> Why | WhyMatch:
        """Say why the pattern matched what it did: counts, likely causes, and the runs that came furthest.

        `match_id` asks about one match instead: which element took which event, and why others were passed over.

        `key` asks for the rows of one key, as in `key={"tag": "watch"}`. Conditions are counted over all rows; runs are
        followed one by one in up to `most_rows` of them, those of the keys in which the most elements have events.

        >>> from cepheid import Pattern
        >>> rows = [{"t": 1, "kind": "view"}, {"t": 2, "kind": "buy"}]
        >>> pair = Pattern.begin("view").where("kind = 'View'").followed_by("buy").where("kind = 'buy'").within(10)
        >>> pair.match_events(rows, order_by="t").why().reasons[0].kind.value
        'another case or blanks'
        """
        if match_id is None:
            return Why(self._inquiry(key, count(most_rows, "most_rows")).account)
        return why_match(self._question(), match_id, self._search.options)

    def _inquiry(self, key: Mapping[str, Any] | None = None, most_rows: int = MOST_ROWS) -> Inquiry:
        if key is not None and not isinstance(key, Mapping):
            raise wrong_key(key)
        known = (None if key is None else tuple(key.items()), most_rows)
        if known not in self._inquiries:
            self._inquiries[known] = ask(self._question(key, most_rows), self._search.options)
        return self._inquiries[known]

    def _question(self, key: Mapping[str, Any] | None = None, most_rows: int = MOST_ROWS) -> Question:
        search = self._search
        if not search.events.table.column_names:
            raise InputError("there are no rows, so there are no columns to ask about.\n  Check the input.")
        return Question(search.tree, search.events, search.order_by, search.nulls, key, most_rows)

    @cached_property
    def broken_table(self) -> pa.Table:
        """The runs that something other than time ended: the key, what each took, the `reason` and the `event`."""
        events, automaton = self._prepared()
        return broken(automaton, events, self._columns())

    @property
    def broken(self) -> list[dict[str, Any]]:
        """The runs that something other than time ended, as dicts."""
        return listed(self.broken_table, "broken_table")

    @cached_property
    def unmatched_table(self) -> pa.Table:
        """The rows that are in no match."""
        if self._search.events.own:
            raise InputError("unmatched: elements have their own keys or tables, so a row may have several keys.")
        events, automaton = self._prepared()
        taken = run(automaton, events, self._search.options)[0].row
        return unmatched(events, taken, self._columns().names)

    @property
    def unmatched(self) -> list[dict[str, Any]]:
        """The rows that are in no match, as dicts."""
        return listed(self.unmatched_table, "unmatched_table")

    def _prepared(self) -> tuple[Arranged, Automaton]:
        asked = self._question()
        _, events, automaton = prepared(asked.tree, asked.events, asked.order_by, asked.nulls)
        return events, automaton

    def _columns(self) -> pa.Schema:
        """The columns of the events, with their key."""
        events = self._search.events
        names = dict.fromkeys((*events.columns, *events.partition_by))
        return pa.schema([events.table.schema.field(name) for name in names])

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
