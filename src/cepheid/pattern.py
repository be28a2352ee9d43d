"""The face of Cepheid: `Pattern`, which finds itself in events.

Thin: the builder is in `syntax`, what a pattern is by itself in `forms`, the meaning in the rooms below, which are
imported when needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from cepheid.errors import InputError
from cepheid.forms import PatternForms
from cepheid.given import engine_options, events_of, first_of, frame_of
from cepheid.options import (
    EVERYTHING,
    LIMITS,
    Asked,
    Further,
    Keys,
    Limits,
    Movement,
    Nulls,
    Rows,
    Shuffle,
    SingleLimits,
    Time,
    bucket_count,
    checked_nulls,
    count,
    identifier,
    known_arguments,
    limits_of,
    names,
    yes_or_no,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from cepheid.explain.found import FoundRows
    from cepheid.explain.why.document import Why
    from cepheid.rows.in_memory import Found
    from cepheid.spark.batch import DataFrame
    from cepheid.spark.batch import Found as FoundInDataFrame
    from cepheid.spark.stream.found import FoundInStream


class Pattern(PatternForms):
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
        events: object,
        *,
        partition_by: Keys = None,
        order_by: str | Iterable[str] | None = None,
        measures: Mapping[str, str] | None = None,
        columns: str | Iterable[str] | None = None,
        rows: Rows = "one",
        nulls: Nulls = "error",
        time_zone: str = "UTC",
        limits: Limits | None = None,
        **single: Unpack[SingleLimits],
    ) -> FoundRows:
        """Find the pattern in rows in memory: dicts, a pandas DataFrame or an Arrow table.

        `partition_by` names the columns whose values all events of a match share; leave it out if the pattern names
        them itself. A dict gives a key by step: `{"ip": {"a": "host_ip", "b": "source_ip"}}`. `events` may also be a
        dict, with a table for each element. `order_by` names the time of the events, then columns that break ties;
        without it, rows keep the order in which you give them. Rows with NULL in these columns are an error;
        `nulls="drop"` drops them instead. The end of the rows is the end of the input: everything that still waits is
        decided.

        `measures`, `columns` and `rows` shape the result as in `match`. `time_zone` is what Spark calls the session's
        time zone: `HOUR(ts)` reads its clock, and so does a `TIMESTAMP '…'` whose text names no zone.

        >>> from cepheid import Pattern
        >>> rise = Pattern.begin("low").followed_by("high").where("price > 2 * LAST(low.price)").within(10)
        >>> rows = [{"t": 1, "price": 5}, {"t": 2, "price": 7}, {"t": 9, "price": 12}]
        >>> found = rise.match_events(rows, order_by="t")
        >>> [(match["low"]["price"], match["high"]["price"]) for match in found.matches]
        [(5, 12)]
        """
        from cepheid.conditions.casting import zone_of
        from cepheid.explain.found import FoundRows, Search
        from cepheid.rows.in_memory import count_rows, match_rows

        self._checked(measures, partition_by)
        known_arguments(single, self.match_events, SingleLimits.__annotations__)
        asked = Asked.of(measures, columns, rows)
        checked_nulls(nulls)
        zone_of(time_zone)
        order = names(order_by, "order_by")
        given = events_of(self.tree, events, partition_by, order, time_zone)
        options = engine_options(limits_of(limits, single))

        def found(asked: Asked) -> Found:
            return match_rows(self.tree, given, given.partition_by, order, options, asked, nulls, time_zone)

        def counts() -> pa.Table:
            return count_rows(self.tree, given, given.partition_by, order, options, asked.measures, nulls, time_zone)

        search = Search(self.tree, given, order, nulls, options)
        whole = None if asked == EVERYTHING else lambda: found(EVERYTHING)
        return FoundRows(found(asked), search, whole, counts)

    def count_events(
        self,
        events: object,
        *,
        partition_by: Keys = None,
        order_by: str | Iterable[str] | None = None,
        measures: Mapping[str, str] | None = None,
        nulls: Nulls = "error",
        time_zone: str = "UTC",
        limits: Limits | None = None,
        **single: Unpack[SingleLimits],
    ) -> pa.Table:
        """Count the matches that end with each event of rows in memory.

        The Arrow table has a row for each event that ends any match: the partition columns, `end_time`, `matches`, and
        for each measure its total over these matches. Measures must be COUNT or SUM over one variable. The arguments
        are those of `match_events`.

        With `no_skip` the matches are counted without being built, so there may be billions of them. If `explain` says
        that each run is kept by itself, they are built and then counted.

        >>> from cepheid import Pattern
        >>> rise = Pattern.begin("low").where("price < 5").followed_by_any("high").where("price > 5").within(10)
        >>> rows = [{"t": 1, "price": 3}, {"t": 2, "price": 4}, {"t": 9, "price": 12}]
        >>> rise.count_events(rows, order_by="t").to_pylist()
        [{'end_time': 9, 'matches': 2}]
        >>> rise.count_events(rows, order_by="t", measures={"lows": "SUM(low.price)"}).to_pylist()
        [{'end_time': 9, 'matches': 2, 'lows': 7}]
        """
        from cepheid.conditions.casting import zone_of
        from cepheid.rows.in_memory import count_rows

        self.check()
        known_arguments(single, self.count_events, SingleLimits.__annotations__)
        checked_nulls(nulls)
        zone_of(time_zone)
        options = engine_options(limits_of(limits, single))
        order = names(order_by, "order_by")
        given = events_of(self.tree, events, partition_by, order, time_zone)
        asked = Asked.of(measures, None, "one")
        return count_rows(self.tree, given, given.partition_by, order, options, asked.measures, nulls, time_zone)

    def match(
        self,
        events: DataFrame | Mapping[str, DataFrame],
        *,
        partition_by: Keys = None,
        order_by: str | Iterable[str] | None = None,
        measures: Mapping[str, str] | None = None,
        columns: str | Iterable[str] | None = None,
        rows: Rows = "one",
        timeouts: bool = False,
        nulls: Nulls = "error",
        limits: Limits | None = None,
        **further: Unpack[Further],
    ) -> FoundInDataFrame | FoundInStream:
        """Find the pattern in a DataFrame, batch or streaming: `.matches` and `.timeouts` are lazy DataFrames.

        `events`, `partition_by` and `order_by` are as in `match_events`, with DataFrames as tables. `order_by` is
        required; its first column is the time. Rows with NULL in these columns are an error that shows them;
        `nulls="drop"` drops them instead.

        A match is one row: the partition columns, `match_id`, `start_time`, `end_time` and one column per variable, a
        struct if it takes one event, an array of structs if it may take more. `columns` selects what the structs hold.
        `measures` replaces the structs with computed columns, such as `{"total": "SUM(b.amount)"}`; give `columns` as
        well to get both. `rows="all"` returns one row per event of a match, with `variable` and `sequence`.
        `timeouts=True` announces that you will use `.timeouts`, so that anything that prevents it is reported now.

        Further arguments depend on the kind of DataFrame. `match_batch` and `match_stream` list them, accept only one
        kind, and return a result type that a type checker can use.
        """
        known_arguments(further, self.match, Further.__annotations__)
        common: Any = {
            "partition_by": partition_by,
            "order_by": order_by,
            "measures": measures,
            "columns": columns,
            "rows": rows,
            "timeouts": timeouts,
        }
        common["limits"] = limits_of(limits, {name: further[name] for name in LIMITS if name in further})  # type: ignore[literal-required]
        others: Any = {name: value for name, value in further.items() if name not in LIMITS}
        if first_of(events).isStreaming:
            shuffled = others.pop("shuffle", "packed") != "packed"
            _refuse_on_stream(shuffle=shuffled, nulls=nulls != "error")
            return self.match_stream(events, **common, **others)
        if others.pop("time", "event") != "event":
            raise InputError(
                f"time={further['time']!r} needs a streaming DataFrame: the rows of a batch do not arrive one by "
                "one.\n  Leave it out; order_by names the time of the events."
            )
        for name in ("watermark", "max_ahead", "id"):  # these do not apply to a batch
            others.pop(name, None)
        return self.match_batch(events, **common, nulls=nulls, **others)

    def match_batch(
        self,
        events: DataFrame | Mapping[str, DataFrame],
        *,
        partition_by: Keys = None,
        order_by: str | Iterable[str] | None = None,
        measures: Mapping[str, str] | None = None,
        columns: str | Iterable[str] | None = None,
        rows: Rows = "one",
        timeouts: bool = False,
        nulls: Nulls = "error",
        buckets: int | None = None,
        shuffle: Shuffle = "packed",
        limits: Limits | None = None,
    ) -> FoundInDataFrame:
        """Like `match`, for batch DataFrames only.

        Keys are spread over `buckets`, each matched by one task; by default their number follows the size of the
        input. A bucket is held in a worker's memory, up to `limits.max_bucket_bytes`. With `shuffle="spark"` Spark
        sorts the rows instead, which is slower but has no such limit.
        """
        from cepheid.spark.batch import BatchPlan, Found

        self._checked(measures, partition_by)
        if first_of(events).isStreaming:
            raise InputError("match_batch() was given a stream.\n  Use match_stream(), or match(), which takes both.")
        asked, order = Asked.of(measures, columns, rows), names(order_by, "order_by")
        given, keys, steps = frame_of(self.tree, events, partition_by, order)
        limits = limits_of(limits)
        movement = Movement(buckets, shuffle, nulls, limits.max_bucket_bytes)
        plan = BatchPlan(self.tree, given, keys, order, asked, movement, engine_options(limits), steps)
        plan.tables(yes_or_no(timeouts, "timeouts"))
        return Found(plan)

    def match_stream(
        self,
        events: DataFrame | Mapping[str, DataFrame],
        *,
        partition_by: Keys = None,
        order_by: str | Iterable[str] | None = None,
        measures: Mapping[str, str] | None = None,
        columns: str | Iterable[str] | None = None,
        rows: Rows = "one",
        timeouts: bool = False,
        buckets: int | None = None,
        watermark: str | None = None,
        max_ahead: str = "1 hour",
        time: Time = "event",
        id: str | None = None,
        limits: Limits | None = None,
    ) -> FoundInStream:
        """Like `match`, for streaming DataFrames only: matches, timeouts, late and rejected rows are streams, and
        `.start(...)` runs one query for all of them.

        An event may lag up to `watermark` behind the latest one ("10 seconds" unless the stream already has a
        watermark). Events further ahead of the clock than `max_ahead` are rejected. With `time="arrival"`, events are
        handled as they arrive, at the time of their micro-batch. `id` identifies conditions that are Spark Columns, so
        that saved state is never used with different ones.
        """
        from cepheid.spark.stream.found import FoundInStream
        from cepheid.spark.stream.plan import StreamPlan
        from cepheid.spark.stream.time import Timing

        self._checked(measures, partition_by)
        if not first_of(events).isStreaming:
            raise InputError("match_stream() was given a batch.\n  Use match_batch(), or match(), which takes both.")
        asked, order = Asked.of(measures, columns, rows), names(order_by, "order_by")
        given, keys, steps = frame_of(self.tree, events, partition_by, order)
        options, timing = engine_options(limits_of(limits)), Timing(watermark, max_ahead, time)
        count, name = bucket_count(buckets), identifier(id)
        plan = StreamPlan(self.tree, given, keys, order, asked, count, options, timing, name, steps)
        plan.tables(yes_or_no(timeouts, "timeouts"))
        return FoundInStream(plan)

    def why(
        self,
        events: object,
        *,
        partition_by: Keys = None,
        order_by: str | Iterable[str] | None = None,
        key: Mapping[str, Any] | None = None,
        most_rows: int = 10_000,
        nulls: Nulls = "error",
    ) -> Why:
        """Explain why the pattern finds what it finds in a batch DataFrame, or in rows in memory, and not more.

        One job counts the conditions over all rows. Runs are followed one by one, for the given `key`, such as
        `key={"tag": "watch"}`, or else for a few keys in which the most elements have events; `most_rows` limits how
        many of their rows. For rows in memory this is `match_events(…).why()`.
        """
        from cepheid.explain.why.document import Why

        self.check()
        checked_nulls(nulls)
        order, most = names(order_by, "order_by"), count(most_rows, "most_rows")
        one = next(iter(events.values()), None) if isinstance(events, Mapping) else events
        if not hasattr(one, "sparkSession"):
            found = self.match_events(events, partition_by=partition_by, order_by=order, nulls=nulls)
            return found.why(key=key, most_rows=most)
        from cepheid.spark.why import inquire

        rows, keys, steps = frame_of(self.tree, events, partition_by, order)
        if rows.isStreaming:
            raise InputError(
                "why() was given a stream.\n  Give it a batch of the same rows, with spark.read instead of readStream; "
                "or ask about a running query: found.why(query)."
            )
        return Why(inquire(self.tree, rows, keys, order, key, engine_options(Limits()), most, nulls, steps).account)

    def as_transform(
        self,
        *,
        partition_by: Keys = None,
        order_by: str | Iterable[str] | None = None,
        measures: Mapping[str, str] | None = None,
        columns: str | Iterable[str] | None = None,
        rows: Rows = "one",
        nulls: Nulls = "error",
        limits: Limits | None = None,
        **further: Unpack[Further],
    ) -> Callable[[DataFrame], DataFrame]:
        """Return a function from events to matches, for a chain of transformations:
        `df.transform(pattern.as_transform(partition_by=…, order_by=…))`. The arguments are those of `match`."""
        known_arguments(further, self.as_transform, Further.__annotations__)
        return lambda events: (
            self.match(
                events,
                partition_by=partition_by,
                order_by=order_by,
                measures=measures,
                columns=columns,
                rows=rows,
                nulls=nulls,
                limits=limits,
                **further,
            ).matches
        )

    def _checked(self, measures: Mapping[str, str] | None, partition_by: Keys) -> None:
        """Check the pattern before a match, and warn if it defeats itself."""
        from cepheid.conditions.parameters import refuse_unused
        from cepheid.conditions.self_defeating import self_defeating

        self.check()
        refuse_unused(self.tree, (measures, partition_by))
        for problem in self_defeating(self.tree):
            warnings.warn(problem, stacklevel=3)


def _refuse_on_stream(**given: bool) -> None:
    """Refuse arguments that do not apply to a stream."""
    named = next((name for name, is_given in given.items() if is_given), None)
    if named is not None:
        raise InputError(
            f"{named}= is for batch DataFrames only, and this one is a stream.\n"
            "  Leave it out; rows without a time go to `.rejected`."
        )
