"""Timelines: what was found, on a time axis.

In: matches and events as Arrow, pandas, dicts or collected Spark rows; the pattern, to show windows and negations.
Out: a `Timeline`, which shows itself in notebooks and can be saved as a page. Called by the face, the Spark plans and
the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions import ListedTaken, Predicate, Schema, bind, compile_predicate
from cepheid.errors import CepheidError, InputError
from cepheid.explain.diagram.picture import picture
from cepheid.explain.diagram.svg_drawing import to_svg
from cepheid.explain.timeline.page import fragment, page
from cepheid.explain.timeline.panels import OWN_COLUMNS, Failure, Reading, columns_of, panels, time_column
from cepheid.explain.timeline.plain_rows import PlainRow, is_time, plain_rows
from cepheid.options import count, path_of
from cepheid.options import names as names_given
from cepheid.rows.given import to_table
from cepheid.syntax.builder import PatternBuilder
from cepheid.syntax.notation import to_text
from cepheid.syntax.tree import Not, PatternTree, walk


class Timeline:
    """Matches on a time axis. A notebook displays it; `save` writes a self-contained page."""

    def __init__(self, body: str, title: str, partitions: int) -> None:
        self._body = body
        self._title = title
        self.partitions = partitions
        """How many partitions are drawn."""

    @property
    def html(self) -> str:
        """The whole page."""
        return page(self._body, self._title)

    def save(self, path: str | Path) -> Path:
        """Write the page to a file."""
        place = path_of(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(self.html, encoding="utf-8")
        return place

    def _repr_html_(self) -> str:
        return self._body

    def __repr__(self) -> str:
        return f"Timeline({self.partitions} partitions)"


def timeline(
    matches: object,
    *,
    events: object = None,
    pattern: PatternBuilder | PatternTree | None = None,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
    n: int = 10,
    title: str = "Timeline",
    failures: Sequence[Failure] = (),
) -> Timeline:
    """Draw matches and the events around them on a time axis, one panel for each of up to `n` partitions.

    `matches` are rows as in `found.matches`; `events` are the rows that were searched, at least those of the partitions
    to draw. With `pattern`, windows, negations and the diagram are drawn, too. Without `partition_by` and `order_by`,
    both are inferred from the columns of the matches. `failures` are runs that became no match, drawn in grey.

    >>> from cepheid import Pattern
    >>> rows = [{"id": 1, "t": 1, "kind": "a"}, {"id": 1, "t": 4, "kind": "b"}]
    >>> pair = Pattern.begin("a").where("kind = 'a'").followed_by("b").where("kind = 'b'").within(10)
    >>> found = pair.match_events(rows, partition_by="id", order_by="t")
    >>> timeline(found.matches, events=rows, pattern=pair)
    Timeline(1 partitions)
    """
    n = count(n, "n")
    tree = pattern.tree if isinstance(pattern, PatternBuilder) else pattern
    if isinstance(matches, pa.Table):
        matches, events = _few_partitions(matches, events, n, failures)
    rows = plain_rows(matches)
    happened = [] if events is None else plain_rows(events)
    keys, names = columns_of(rows, tree)
    taking = [name for failure in failures for name, _ in failure.taken]
    names = (*names, *(name for name in dict.fromkeys(taking) if name not in names))
    keys = keys if partition_by is None else names_given(partition_by, "partition_by")
    order = time_column(rows, names) if order_by is None else names_given(order_by, "order_by")
    if happened and not order:
        raise InputError(
            "it is not known when the events happened: no column of theirs holds the matches' start_time.\n"
            '  Name the column: order_by="ts".'
        )
    nots, nots_of = _nots(tree, happened)
    shown = panels(rows, happened, Reading(keys, names, order, tree, nots_of, tuple(failures)), n)
    samples = [row.get("start_time") for row in rows] + [event.get(order[0]) for event in happened[:1] if order]
    in_time = any(is_time(sample) for sample in samples)
    text = "" if tree is None else to_text(tree)
    drawing = "" if tree is None else to_svg(picture(tree), title=text)
    return Timeline(fragment(shown, names, nots, in_time, text, drawing, title), title, len(shown))


def _few_partitions(matches: pa.Table, events: object, n: int, failures: Sequence[Failure]) -> tuple[pa.Table, object]:
    """Only what can be seen, so that a large table is not turned into a large list first: the partitions with matches
    before those with failed runs, and others if there are fewer than `n`."""
    names = matches.column_names
    if not names or names[0] in OWN_COLUMNS or not isinstance(events, pa.Table) or names[0] not in events.column_names:
        return matches, events
    column = events[names[0]].combine_chunks()
    failed = pa.array([failure.key[0] for failure in failures if failure.key], column.type)
    found = matches[names[0]].combine_chunks().cast(column.type)
    seen = pa.concat_arrays([found, failed, column]).unique()[:n]
    return _with_key(matches, names[0], seen), _with_key(events, names[0], seen)


def _with_key(table: pa.Table, name: str, chosen: pa.Array) -> pa.Table:
    return table.filter(pc.is_in(table[name], value_set=chosen))


def _nots(
    tree: PatternTree | None, events: Sequence[PlainRow]
) -> tuple[list[str], Callable[[PlainRow], tuple[str, ...]]]:
    """The names of the pattern's negations, and which of them an event satisfies.

    Negations that read variables depend on the match, and some conditions only Spark can compute: such events are not
    marked.
    """
    if tree is None:
        return [], lambda event: ()
    names = [before.name for before in tree.not_before]
    names += [element.name for _, element in walk(tree.body) if isinstance(element, Not)]
    tests = {}
    if events and names:
        where = bind(tree, Schema.from_arrow(to_table(events).schema)).where
        for name in names:
            if not where[name].reads_variables:
                tests[name] = where[name]
    holds = {name: test for name, predicate in tests.items() if (test := _test(predicate)) is not None}
    return names, lambda event: tuple(name for name, test in holds.items() if test(event))


def _test(predicate: Predicate) -> Callable[[PlainRow], bool] | None:
    try:
        compiled = compile_predicate(predicate)
    except CepheidError:
        return None
    nothing = ListedTaken({})

    def test(event: PlainRow) -> bool:
        try:
            return compiled(event, nothing)
        except CepheidError:
            return False

    return test
