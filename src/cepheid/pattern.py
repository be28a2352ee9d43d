"""The face of Cepheid: `Pattern`, with everything that can be done with one.

Thin: the builder is in `syntax`, the meaning in the rooms below, imported when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from cepheid.errors import InputError
from cepheid.options import (
    LIMITS,
    Asked,
    Further,
    Limits,
    Movement,
    Nulls,
    Rows,
    Shuffle,
    SingleLimits,
    Time,
    bucket_count,
    checked_nulls,
    duration,
    identifier,
    known_arguments,
    limits_of,
    names,
    one_of,
    yes_or_no,
)
from cepheid.syntax.builder import PatternBuilder
from cepheid.syntax.tree import Condition, SqlText
from cepheid.syntax.validation import check

if TYPE_CHECKING:
    from cepheid.automaton.model import Automaton
    from cepheid.engine.negation_after import NegationPlan
    from cepheid.engine.tables.tabulate import Options
    from cepheid.explain import Diagram, Explanation
    from cepheid.explain.found import FoundRows
    from cepheid.spark.batch import DataFrame
    from cepheid.spark.batch import Found as FoundInDataFrame
    from cepheid.spark.stream.plan import FoundInStream


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
        events: object,
        *,
        partition_by: str | Iterable[str] | None = None,
        order_by: str | Iterable[str] | None = None,
        measures: Mapping[str, str] | None = None,
        columns: str | Iterable[str] | None = None,
        rows: Rows = "one",
        nulls: Nulls = "error",
        limits: Limits | None = None,
        negation: NegationPlan = "pushed",
        **single: Unpack[SingleLimits],
    ) -> FoundRows:
        """Find the pattern in rows in memory: dicts, a pandas DataFrame or an Arrow table.

        `partition_by`: the columns whose values must be the same for all events of a match; not needed where the
        pattern itself names them. `order_by`: the time of the events, then columns that break ties; without it rows are
        taken in the order given. Rows without a value there are an error, or left out with `nulls="drop"`. The end of
        the rows is the end of the input: what still waits for time to pass is decided.

        The result is that of `match`: `measures` are columns computed instead of the events, `columns` names what is
        shown of an event, `rows="all"` gives a row for each event of a match.

        >>> from cepheid import Pattern
        >>> rise = Pattern.begin("low").followed_by("high").where("price > 2 * LAST(low.price)").within(10)
        >>> rows = [{"t": 1, "price": 5}, {"t": 2, "price": 7}, {"t": 9, "price": 12}]
        >>> found = rise.match_events(rows, order_by="t")
        >>> [(match["low"]["price"], match["high"]["price"]) for match in found.matches]
        [(5, 12)]
        """
        from cepheid.engine.negation_after import checked_plan
        from cepheid.explain.found import FoundRows, Search
        from cepheid.rows.given import to_table
        from cepheid.rows.in_memory import match_rows

        self.check()
        known_arguments(single, "match_events", SingleLimits.__annotations__)
        asked = Asked.of(measures, columns, rows)
        checked_nulls(nulls)
        search = Search(self.tree, to_table(events), self._key(partition_by), names(order_by, "order_by"))
        options = _engine_options(limits_of(limits, single))
        found = match_rows(
            self.tree,
            search.rows,
            search.partition_by,
            search.order_by,
            options,
            checked_plan(negation),
            asked,
            nulls,
        )
        return FoundRows(found, search)

    def match(
        self,
        events: DataFrame,
        *,
        partition_by: str | Iterable[str] | None = None,
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

        `partition_by` and `order_by` as in `match_events`, but `order_by` is needed, and its first column is the time.
        Rows without a value there are an error that shows them, or left out with `nulls="drop"`.

        A match is one row: the partition columns, `match_id`, `start_time`, `end_time` and a column for each variable,
        a struct if it takes one event, an array of structs if it may take more. `columns` names what the structs hold.
        `measures` are columns computed instead, such as `{"total": "SUM(b.amount)"}` (with `columns`, both come).
        `rows="all"` gives a row for each event of a match, with `variable` and `sequence`. `timeouts=True` says that
        `.timeouts` will be asked for: whatever stands against that is said at once.

        What else may be given depends on the DataFrame: `match_batch` and `match_stream` list it, take only one kind of
        DataFrame, and return that kind of result, which a type checker can use.
        """
        from cepheid.spark.session import require_dataframe

        known_arguments(further, "match", Further.__annotations__)
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
        if require_dataframe(events).isStreaming:
            shuffled = others.pop("shuffle", "packed") != "packed"
            _refuse_on_stream(
                shuffle=shuffled, nulls=nulls != "error", negation=others.pop("negation", "pushed") != "pushed"
            )
            return self.match_stream(events, **common, **others)
        if others.pop("time", "event") != "event":
            raise InputError(
                f"time={further['time']!r} needs a streaming DataFrame: the rows of a batch have not arrived one by "
                "one.\n  Leave it out; order_by names the time of the events."
            )
        for name in ("watermark", "max_ahead", "id"):  # what a batch has no use for
            others.pop(name, None)
        return self.match_batch(events, **common, nulls=nulls, **others)

    def match_batch(
        self,
        events: DataFrame,
        *,
        partition_by: str | Iterable[str] | None = None,
        order_by: str | Iterable[str] | None = None,
        measures: Mapping[str, str] | None = None,
        columns: str | Iterable[str] | None = None,
        rows: Rows = "one",
        timeouts: bool = False,
        nulls: Nulls = "error",
        buckets: int | None = None,
        shuffle: Shuffle = "packed",
        limits: Limits | None = None,
        negation: NegationPlan = "pushed",
    ) -> FoundInDataFrame:
        """As `match`, for a batch DataFrame alone.

        Keys are spread over `buckets`, each matched by one task; their number follows the size of the input if not
        given. A bucket is held in a worker's memory, up to `limits.max_bucket_bytes`; `shuffle="spark"` sorts rows by
        Spark instead, which is slower and has no such bound.
        """
        from cepheid.engine.negation_after import checked_plan
        from cepheid.spark.batch import BatchPlan, Found
        from cepheid.spark.session import require_dataframe

        self.check()
        if require_dataframe(events).isStreaming:
            raise InputError("match_batch() was given a stream.\n  Use match_stream(), or match(), which takes both.")
        asked, keys, order = Asked.of(measures, columns, rows), self._key(partition_by), names(order_by, "order_by")
        limits = limits_of(limits)
        movement = Movement(buckets, shuffle, nulls, limits.max_bucket_bytes)
        plan = BatchPlan(
            self.tree, events, keys, order, asked, movement, _engine_options(limits), checked_plan(negation)
        )
        plan.tables(yes_or_no(timeouts, "timeouts"))
        return Found(plan)

    def match_stream(
        self,
        events: DataFrame,
        *,
        partition_by: str | Iterable[str] | None = None,
        order_by: str | Iterable[str] | None = None,
        measures: Mapping[str, str] | None = None,
        columns: str | Iterable[str] | None = None,
        rows: Rows = "one",
        timeouts: bool = False,
        buckets: int | None = None,
        watermark: str | None = None,
        max_ahead: str = "1 day",
        time: Time = "event",
        id: str | None = None,
        limits: Limits | None = None,
    ) -> FoundInStream:
        """As `match`, for a streaming DataFrame alone: matches, timeouts, and late and rejected rows are streams, and
        `.start(...)` runs one query for them all.

        Events may come up to `watermark` after the latest one ("10 seconds" if the stream has no watermark of its own);
        those further ahead of the clock than `max_ahead` are rejected. With `time="arrival"` events are taken as they
        come, at the time of their micro-batch. `id` names conditions that are Spark Columns, so that saved state is not
        given to other ones.
        """
        from cepheid.spark.session import require_dataframe
        from cepheid.spark.stream.plan import FoundInStream, StreamPlan, Timing

        self.check()
        if not require_dataframe(events).isStreaming:
            raise InputError("match_stream() was given a batch.\n  Use match_batch(), or match(), which takes both.")
        asked, keys, order = Asked.of(measures, columns, rows), self._key(partition_by), names(order_by, "order_by")
        one_of(
            time,
            "time",
            ("event", "arrival"),
            '"event": by the column that order_by names first; "arrival": by the micro-batch.',
        )
        late = None if watermark is None else duration(watermark, "watermark")
        options, timing = _engine_options(limits_of(limits)), Timing(late, duration(max_ahead, "max_ahead"), time)
        plan = StreamPlan(self.tree, events, keys, order, asked, bucket_count(buckets), options, timing, identifier(id))
        plan.tables(yes_or_no(timeouts, "timeouts"))
        return FoundInStream(plan)

    def as_transform(
        self,
        *,
        partition_by: str | Iterable[str] | None = None,
        order_by: str | Iterable[str] | None = None,
        measures: Mapping[str, str] | None = None,
        columns: str | Iterable[str] | None = None,
        rows: Rows = "one",
        nulls: Nulls = "error",
        limits: Limits | None = None,
        **further: Unpack[Further],
    ) -> Callable[[DataFrame], DataFrame]:
        """The matches as a step of a chain, `df.transform(pattern.as_transform(partition_by=…, order_by=…))`; the
        arguments are those of `match`."""
        known_arguments(further, "as_transform", Further.__annotations__)
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

    def explain(self) -> Explanation:
        """What the pattern means and how it is run: print it; in a notebook it shows itself.

        The tree, each condition split into what Spark evaluates and what the run must, the automaton, which partial
        matches are kept and why, what bounds the state of a stream, and warnings.
        """
        from cepheid.explain import explain

        self.check()
        return explain(self.tree)

    def diagram(
        self,
        format: Literal["svg", "mermaid", "dot", "text"] = "svg",
        *,
        of: Literal["pattern", "automaton"] = "pattern",
    ) -> Diagram:
        """The pattern drawn: a notebook shows it, `str` is the drawing, `save(path)` writes it.

        `of="automaton"` draws states and what leads from one to the next instead (all formats but SVG).
        """
        from cepheid.explain import draw

        self.check()
        return draw(self.tree, format, of)

    def to_json(self) -> str:
        """The pattern as JSON text, without loss. Callables and Spark Columns cannot be written."""
        from cepheid.syntax.json_format import to_json

        self.check()
        return to_json(self.tree)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The pattern that `to_json` wrote."""
        from cepheid.syntax.json_format import from_json

        if not isinstance(text, str):
            raise InputError(f"from_json() was given a {type(text).__name__}.\n  Give text, as to_json() writes it.")
        return cls(from_json(text)).check()

    @classmethod
    def parse(cls, text: str, *, type_column: str | None = None) -> Self:
        """The pattern that a SASE text says. `type_column` holds the types of the events (`type` if not given).

        >>> from cepheid import Pattern
        >>> print(Pattern.parse("EVENT SEQ(SHELF x, !(COUNTER y), EXIT z) WITHIN 12 hours", type_column="reader"))
        x[reader = 'SHELF'] ~> !y[reader = 'COUNTER'] ~>> z[reader = 'EXIT'] within 12 hours
        """
        from cepheid.sase import read

        return cls(read(text, type_column))

    def to_sase(self, *, type_column: str | None = None) -> str:
        """The pattern as SASE text, which `parse` reads; refused with the part that SASE has no words for.

        With `type_column`, `parse` needs the same; without, the text itself names the column where it is not `type`.

        >>> from cepheid import Pattern
        >>> pattern = Pattern.begin("a").where("kind = 'A'").followed_by_any("b").where("kind = 'B'", "n > a.n")
        >>> print(pattern.to_sase())
        EVENT SEQ(A a, B b)
        TYPED BY kind
        WHERE b.n > a.n
        """
        from cepheid.sase import write

        self.check()
        if type_column is not None and (not isinstance(type_column, str) or not type_column):
            raise InputError(f'type_column is {type_column!r}.\n  Give the name of a column: type_column="reader".')
        return write(self.tree, type_column)

    def _key(self, given: str | Iterable[str] | None) -> tuple[str, ...]:
        """The columns to partition by: those given, or those of the pattern; not two different sets."""
        own, given_names = self.tree.partition_by, names(given, "partition_by")
        if own and given is not None and {name.lower() for name in own} != {name.lower() for name in given_names}:
            raise InputError(
                f"partition_by is {list(given_names)}, but the pattern itself is partitioned by {list(own)}.\n"
                "  Leave partition_by out: the pattern's key is used."
            )
        return given_names or own

    def _check_condition(self, condition: Condition, element_description: str) -> None:
        from cepheid.conditions import check_text

        if isinstance(condition, SqlText):
            check_text(condition.text, element_description)


def _engine_options(limits: Limits) -> Options:
    from cepheid.engine.tables.tabulate import Options

    return Options(max_runs=limits.max_runs, max_matches_per_event=limits.max_matches_per_event)


def _refuse_on_stream(**given: bool) -> None:
    """Arguments that say nothing to a stream."""
    named = next((name for name, is_given in given.items() if is_given), None)
    if named is not None:
        raise InputError(
            f"{named}= is for batch DataFrames only, and this one is a stream.\n"
            "  Leave it out; rows without a time come out in `.rejected`."
        )
