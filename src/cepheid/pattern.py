"""The face of Cepheid: `Pattern`, with everything that can be done with one.

Thin: the builder is in `syntax`, the meaning in the rooms below, imported when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

from cepheid.syntax.builder import PatternBuilder
from cepheid.syntax.tree import Condition, SqlText
from cepheid.syntax.validation import check

if TYPE_CHECKING:
    from cepheid.automaton.model import Automaton
    from cepheid.engine.in_memory import Found
    from cepheid.spark.batch import DataFrame
    from cepheid.spark.batch import Found as FoundInDataFrame
    from cepheid.spark.streaming import FoundInStream


class Pattern(PatternBuilder):
    """A pattern of events. Immutable: every method returns a new one.

    >>> from cepheid import Pattern
    >>> shoplifting = (
    ...     Pattern.begin("shelf").where("reader = 'SHELF'")
    ...     .not_followed_by("counter").where("reader = 'COUNTER'")
    ...     .followed_by("exit").where("reader = 'EXIT'")
    ...     .within("12 hours")
    ... )
    >>> print(shoplifting)
    shelf[reader = 'SHELF'] ~> !counter[reader = 'COUNTER'] ~> exit[reader = 'EXIT'] within 12 hours
    """

    __slots__ = ()

    def match_events(
        self,
        rows: object,
        *,
        partition_by: str | Iterable[str] = (),
        order_by: str | Iterable[str] = (),
        max_runs: int = 10_000_000,
        max_matches_per_event: int = 1_000_000,
    ) -> Found:
        """Find the pattern in rows in memory: dicts, a pandas DataFrame or an Arrow table.

        `partition_by`: the columns whose values must be the same for all events of a match. `order_by`: the time of
        the events, then columns that break ties; without it rows are taken in the order given. The end of the rows is
        the end of the input: what still waits for time to pass is decided.

        >>> from cepheid import Pattern
        >>> rise = Pattern.begin("low").followed_by("high").where("price > 2 * LAST(low.price)").within(10)
        >>> rows = [{"t": 1, "price": 5}, {"t": 2, "price": 7}, {"t": 9, "price": 12}]
        >>> found = rise.match_events(rows, order_by="t")
        >>> [(match["low"]["price"], match["high"]["price"]) for match in found.matches]
        [(5, 12)]
        """
        from cepheid.engine.in_memory import match_rows
        from cepheid.engine.tables import Options

        self.check()
        options = Options(max_runs=max_runs, max_matches_per_event=max_matches_per_event)
        return match_rows(self.tree, rows, _names(partition_by), _names(order_by), options)

    def match(
        self,
        events: DataFrame,
        *,
        partition_by: str | Iterable[str] = (),
        order_by: str | Iterable[str] = (),
        measures: Mapping[str, str] | None = None,
        rows: Literal["one", "all"] = "one",
        columns: str | Iterable[str] | None = None,
        buckets: int | None = None,
        shuffle: Literal["packed", "spark"] = "packed",
        nulls: Literal["error", "drop"] = "error",
        max_bucket_bytes: int = 1 << 30,
        max_runs: int = 10_000_000,
        max_matches_per_event: int = 1_000_000,
        watermark: str | None = None,
        max_ahead: str = "1 day",
        time: Literal["event", "arrival"] = "event",
        id: str | None = None,
    ) -> FoundInDataFrame | FoundInStream:
        """Find the pattern in a DataFrame, batch or streaming: `.matches` and `.timeouts` are lazy DataFrames.

        `partition_by` and `order_by` as in `match_events`; `order_by` is needed, and its first column is the time.
        Rows without a value there are an error that shows them, or left out with `nulls="drop"`.

        A match is one row: the partition columns, `match_id`, `start_time`, `end_time` and a column for each variable,
        a struct if it takes one event, an array of structs if it may take more. `columns` names what the structs hold.
        `measures` are columns computed instead, such as `{"total": "SUM(b.amount)"}` (with `columns`, both come).
        `rows="all"` gives a row for each event of a match, with `variable` and `sequence`.

        Keys are spread over `buckets`, each matched by one task; their number follows the size of the input if not
        given. A bucket is held in a worker's memory, up to `max_bucket_bytes`; `shuffle="spark"` sorts rows by Spark
        instead, which is slower and has no such bound.

        Of a stream, matches, timeouts, and late and rejected rows are streams, and `.start(...)` runs one query for
        them all. Events may come up to `watermark` behind the latest one ("10 seconds" if the stream has no watermark
        of its own); those further ahead of the clock than `max_ahead` are rejected. With `time="arrival"` events are
        taken as they come, at the time of their micro-batch. `id` names conditions that are Spark Columns, so that
        saved state is not given to other ones.
        """
        from cepheid.engine.tables import Options
        from cepheid.spark.batch import Asked, BatchPlan, Found, Movement
        from cepheid.spark.session import require_dataframe

        self.check()
        keys, order = _names(partition_by), _names(order_by)
        asked = Asked(tuple((measures or {}).items()), None if columns is None else _names(columns), rows)
        options = Options(max_runs=max_runs, max_matches_per_event=max_matches_per_event)
        if require_dataframe(events).isStreaming:
            from cepheid.spark.streaming import FoundInStream, StreamPlan, Timing

            timing = Timing(watermark, max_ahead, time)
            return FoundInStream(StreamPlan(self.tree, events, keys, order, asked, buckets, options, timing, id))
        movement = Movement(buckets, shuffle, nulls, max_bucket_bytes)
        return Found(BatchPlan(self.tree, events, keys, order, asked, movement, options))

    def as_transform(self, **arguments: Any) -> Callable[[DataFrame], DataFrame]:
        """The matches as a step of a chain, `df.transform(pattern.as_transform(partition_by=…, order_by=…))`; the
        arguments are those of `match`."""
        return lambda events: self.match(events, **arguments).matches

    def check(self) -> Self:
        """Refuse the pattern with a `MalformedPatternError` if it is malformed; every use of a pattern does this
        first."""
        from cepheid.conditions import bind

        check(self.tree)
        bind(self.tree, None)
        return self

    def automaton(self) -> Automaton:
        """The automaton that the pattern means; it prints itself. Windows count microseconds where they are
        durations."""
        from cepheid.automaton.construction import build
        from cepheid.conditions import bind

        check(self.tree)
        return build(self.tree, bind(self.tree, None))

    def explain(self) -> str:
        """The pattern, and the automaton that it means, as text."""
        return f"{self}\n\n{self.automaton()}"

    def to_json(self) -> str:
        """The pattern as JSON text, without loss. Callables and Spark Columns cannot be written."""
        from cepheid.syntax.json_format import to_json

        self.check()
        return to_json(self.tree)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The pattern that `to_json` wrote."""
        from cepheid.syntax.json_format import from_json

        return cls(from_json(text)).check()

    def _check_condition(self, condition: Condition, element_description: str) -> None:
        from cepheid.conditions import check_text

        if isinstance(condition, SqlText):
            check_text(condition.text, element_description)


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
