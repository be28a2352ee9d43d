"""The face for SQL: `RowPattern`, a MATCH_RECOGNIZE clause on its own, and `sql`, queries that hold such clauses.

Thin: the text is read by `match_recognize`, the meaning is in `rowpattern`, imported when they are needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from cepheid.errors import InputError
from cepheid.options import Limits, Movement, bucket_count, limits_of

if TYPE_CHECKING:
    from cepheid.explain import Diagram, Explanation
    from cepheid.rowpattern.model import RowPattern as Model
    from cepheid.rows.row_patterns import FoundRowPatterns
    from cepheid.spark.queries import SparkSession
    from cepheid.spark.row_patterns import DataFrame
    from cepheid.spark.row_patterns import FoundRowPatterns as FoundInDataFrame
    from cepheid.spark.stream.row_found import FoundRowsInStream as FoundInStream


class RowPattern:
    """A row pattern of SQL:2016: what the parentheses of MATCH_RECOGNIZE contain.

    >>> from cepheid import RowPattern
    >>> falls = RowPattern.parse('''
    ...     ORDER BY day MEASURES FIRST(day) AS since, LAST(price) AS bottom
    ...     PATTERN (STRT DOWN+) DEFINE DOWN AS price < PREV(price)
    ... ''')
    >>> prices = [{"day": day, "price": price} for day, price in enumerate([10, 8, 5, 7, 6])]
    >>> falls.match_events(prices).matches
    [{'since': 0, 'bottom': 5}, {'since': 3, 'bottom': 6}]
    """

    __slots__ = ("model",)

    def __init__(self, model: Model) -> None:
        self.model = model
        """The clause as frozen data."""

    @classmethod
    def parse(cls, text: str) -> RowPattern:
        """Read a clause. An error points at the mistake."""
        from cepheid.match_recognize import read
        from cepheid.rowpattern.binding import bind

        if not isinstance(text, str):
            raise InputError(f"a clause is {text!r}, not text.\n  Give what MATCH_RECOGNIZE ( … ) contains.")
        model = read(text)
        bind(model, None)
        return cls(model)

    def match_events(self, rows: object, *, limits: Limits | None = None) -> FoundRowPatterns:
        """Find the row pattern in rows in memory: dicts, a pandas DataFrame or an Arrow table.

        `.matches` are the rows of the result as dicts, `.matches_table` the same as an Arrow table. Without ORDER BY,
        rows keep the order in which you give them. Expressions may use the functions that Cepheid computes itself; with
        `match` they may use all of Spark's.
        """
        from cepheid.rows.row_patterns import match_rows

        return match_rows(self.model, rows, limits_of(limits))

    def match(
        self,
        rows: DataFrame,
        *,
        buckets: int | None = None,
        shuffle: Literal["packed", "spark"] = "packed",
        limits: Limits | None = None,
        watermark: str | None = None,
        max_ahead: str | None = None,
    ) -> FoundInDataFrame | FoundInStream:
        """Find the row pattern in a DataFrame, batch or streaming: `.matches` is a lazy DataFrame with the result of
        MATCH_RECOGNIZE.

        Keys are spread over `buckets`, each matched by one task; by default their number follows the size of the input.
        A bucket is held in a worker's memory, up to `limits.max_bucket_bytes`. With `shuffle="spark"` Spark sorts the
        rows instead, which is slower but has no such limit.

        On a streaming DataFrame, rows are matched in the order of time, after the watermark has passed them.
        `watermark` says how late a row may arrive ("10 seconds" unless the stream already has a watermark), and
        `max_ahead` how far ahead of the clock its time may lie ("1 hour"). The result also has `.late`, `.rejected` and
        `.start(matches=…, checkpoint=…)`.
        """
        from cepheid.spark.session import require_dataframe

        every, count = limits_of(limits), bucket_count(buckets)
        if require_dataframe(rows).isStreaming:
            from cepheid.spark.stream.row_found import FoundRowsInStream
            from cepheid.spark.stream.row_plan import RowStreamPlan
            from cepheid.spark.stream.time import MAX_AHEAD, Timing

            if shuffle != "packed":
                raise InputError(f"shuffle={shuffle!r} is for batches, and these rows are a stream.\n  Leave it out.")
            timing = Timing(watermark, MAX_AHEAD if max_ahead is None else max_ahead)
            return FoundRowsInStream(RowStreamPlan(self.model, rows, count, every, timing))
        from cepheid.spark.row_patterns import BatchRowPlan, FoundRowPatterns

        for name, given in (("watermark", watermark), ("max_ahead", max_ahead)):
            if given is not None:
                raise InputError(f"{name}={given!r} is for streams, and these rows are a batch.\n  Leave {name}= out.")
        return FoundRowPatterns(
            BatchRowPlan(self.model, rows, Movement(count, shuffle, max_bucket_bytes=every.max_bucket_bytes), every)
        )

    def explain(self) -> Explanation:
        """Explain what the clause means and how it runs. Print it; a notebook displays it."""
        from cepheid.explain.text.row_patterns import explain

        return explain(self.model)

    def diagram(self, format: Literal["svg", "mermaid", "dot", "text"] = "svg") -> Diagram:
        """Draw the clause. A notebook displays it, `str` is the drawing, `save(path)` writes it."""
        from cepheid.explain.diagram.row_patterns import draw

        return draw(self.model, format)

    def to_json(self) -> str:
        """Write the clause as JSON text, without loss."""
        from cepheid.match_recognize.json_format import to_json

        return to_json(self.model)

    @classmethod
    def from_json(cls, text: str) -> RowPattern:
        """Read a row pattern that `to_json` wrote."""
        from cepheid.match_recognize.json_format import from_json

        return cls(from_json(text))

    def __str__(self) -> str:
        return str(self.model)

    def __repr__(self) -> str:
        return f"RowPattern.parse('''{self.model}''')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowPattern) and self.model == other.model

    def __hash__(self) -> int:
        return hash(self.model)


def sql(text: str, spark: SparkSession | None = None, /, **tables: Any) -> DataFrame:
    """Run a Spark query with any number of MATCH_RECOGNIZE clauses, wherever a table is allowed.

    `tables` are DataFrames that the query can use by these names, in addition to Spark's own tables and views.
    Everything except the clauses is Spark's SQL. Without `spark`, the session is that of the tables, or the active one.
    """
    from cepheid.spark.queries import run

    if not isinstance(text, str):
        raise InputError(f"a query is {text!r}, not text.")
    return run(text, spark, tables)
