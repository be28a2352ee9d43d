"""A row pattern on a DataFrame: the plan, which streams share, and what comes back from a batch.

In: a row pattern, a DataFrame. Out: `FoundRowPatterns`, whose DataFrame is lazy.

The plan: Spark computes what conditions ask of a row alone, one bit for each variable, and every expression over a row
that only Spark can compute. Arrow batches become one binary cell per bucket of keys, Spark moves the cells, and each
bucket is sorted and matched in one call of the engine. The workers give, for each row of the result, what its measures
read; the measures themselves are Spark's again, so they may use any of its functions.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    AtomicType,
    DataType,
    DateType,
    IntegralType,
    LongType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from cepheid.conditions import Schema, types
from cepheid.conditions.arrow.expression import columns_of
from cepheid.conditions.arrow.holding import is_portable
from cepheid.conditions.carets import condition_error
from cepheid.conditions.expression import Call as FunctionCall
from cepheid.conditions.expression import Cast, Expression, Literal, SparkExpression, walk
from cepheid.conditions.expression import Column as RowColumn
from cepheid.conditions.printing import quoted
from cepheid.errors import ConditionError, InputError
from cepheid.explain import Explanation
from cepheid.explain.text.row_patterns import explain
from cepheid.options import Limits, Movement
from cepheid.rowpattern.binding import bind, located
from cepheid.rowpattern.expression import (
    LABEL,
    NUMBER,
    Folded,
    Function,
    Value,
    mentions,
    reads_of,
    replaced,
)
from cepheid.rowpattern.model import RowPattern, RowsPerMatch, Sort
from cepheid.rows.row_patterns import tabulated
from cepheid.spark.buckets import bucket_count, estimated_bytes, parallelism
from cepheid.spark.code import provide_code
from cepheid.spark.frames import arrow_schema, partition_columns, refuse_names_by_case
from cepheid.spark.keys import key_columns
from cepheid.spark.masks import to_column
from cepheid.spark.pack_workers import BUCKET, Pack, PackByNumber
from cepheid.spark.packing import bucket_of, packed
from cepheid.spark.row_workers import MASK, MATCH_NUMBER, MatchRows, MatchSortedRows, read_name
from cepheid.spark.shipping import mapped, shipped

_FUNCTIONS = {
    Function.COUNT: F.count,
    Function.SUM: F.sum,
    Function.AVG: F.avg,
    Function.MIN: F.min,
    Function.MAX: F.max,
    Function.STDDEV: F.stddev,
    Function.ARRAY_AGG: F.collect_list,
}
_NUMBERS = (IntegralType, DateType, TimestampType, TimestampNTZType)
"""Types of keys whose buckets the workers compute."""

__all__ = ["BatchRowPlan", "DataFrame", "FoundRowPatterns", "RowPatternPlan"]


class RowPatternPlan:
    """What a row pattern needs of Spark, on batches and on streams."""

    def __init__(self, pattern: RowPattern, rows: DataFrame, limits: Limits) -> None:
        refuse_names_by_case(rows.schema)
        self.rows = rows
        self._arrow = arrow_schema(rows.schema)
        self.bound = bind(pattern, Schema.from_arrow(self._arrow))
        self.partition_by = partition_columns(rows.schema, self.bound.partition_by)
        for name in self.bound.order_names:
            if not isinstance(rows.schema[name].dataType, AtomicType):
                raise InputError(
                    f"ORDER BY {name}: rows cannot be sorted by a {rows.schema[name].dataType.simpleString()}."
                )
        self.tables = tabulated(self.bound, limits.max_steps)
        expressions = [measure.expression for measure in self.bound.measures]
        self.reads = tuple(dict.fromkeys(read for expression in expressions for read in reads_of(expression)))
        self._refuse_misspelt()
        self._check_reads()
        self.computed = {expression: f"__value_{number}" for number, expression in enumerate(self._computed_by_spark())}
        """What Spark computes of each row beside the bits."""
        provide_code(rows, "rows")

    @property
    def travelling(self) -> tuple[str, ...]:
        """The columns of the input that the workers need."""
        needed = dict.fromkeys((*self.bound.input_columns, *self.partition_by, *self.bound.order_names))
        for expression in self._row_expressions():
            if expression not in self.computed:
                needed |= dict.fromkeys(node.name for node in walk(expression) if isinstance(node, RowColumn))
        if self.tables is None:  # the literal evaluator reads whatever conditions read
            needed |= dict.fromkeys(self.rows.columns)
        return tuple(name for name in self.rows.columns if name in needed)

    def columns(self) -> list[Column]:
        """What travels of each row: columns, and values that Spark alone computes."""
        columns = [self.column_of(name) for name in self.travelling]
        return columns + [to_column(expression).alias(name) for expression, name in self.computed.items()]

    def column_of(self, name: str) -> Column:
        """A column of the input as it travels."""
        return F.col(quoted(name))

    def mask(self) -> Column | None:
        """A bit for each variable whose own part holds; None where the literal evaluator asks for itself."""
        if self.tables is None:
            return None
        mask = F.lit(0).cast("bigint")
        for number, condition in enumerate(self.tables.own):
            bit, nothing = F.lit(1 << number).cast("bigint"), F.lit(0).cast("bigint")
            mask = mask.bitwiseOR(F.when(to_column(condition), bit).otherwise(nothing))
        return mask

    def work_fields(self) -> dict[str, Any]:
        """What every form of the work knows: the fields of `RowWork`."""
        return {
            "bound": self.bound,
            "tables": self.tables,
            "columns": self.bound.input_columns,
            "reads": self.reads,
            "computed": self.computed,
            "schema": arrow_schema(self.worker_schema),
        }

    def _refuse_misspelt(self) -> None:
        """Refuse a function that Spark does not have and whose name is nearly that of one of row patterns."""
        own = () if self.tables is None else self.tables.own
        measured = (measure.expression for measure in self.bound.measures)
        for node in (node for expression in (*own, *self._row_expressions(), *measured) for node in walk(expression)):
            if isinstance(node, SparkExpression) and node.meant is not None:
                name = node.function.strip("`")
                if not self.rows.sparkSession.catalog.functionExists(name):
                    problem = f"there is no function {node.function}"
                    raise located(condition_error(node.span, problem, f"did you mean `{node.meant}`?"))

    # ── what measures read ───────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def worker_schema(self) -> StructType:
        """The columns that come from the workers: those of the input, the reads, and the number of the match if it is
        asked for, or if there is nothing else."""
        fields = [StructField(name, self.rows.schema[name].dataType) for name in self.bound.input_columns]
        fields += [StructField(read_name(n), kind) for n, kind in enumerate(self.read_types())]
        if not fields or any(MATCH_NUMBER in text for _, text in self.result_columns()):
            fields.append(StructField(MATCH_NUMBER, LongType()))
        return StructType(fields)

    def result_columns(self) -> tuple[tuple[str, str], ...]:
        """The columns of the result in the order of rule 6.1: the name of each, and its text over the columns that come
        from the workers."""
        names = {read: read_name(number) for number, read in enumerate(self.reads)}

        def change(node: Expression) -> Expression | None:
            if isinstance(node, RowColumn) and node.name == NUMBER:
                return RowColumn(MATCH_NUMBER, type=types.LONG)
            return RowColumn(names[node], type=node.type) if isinstance(node, Value | Folded) else None

        measured = []
        for measure in self.bound.measures:
            text = str(replaced(measure.expression, change))
            if self.bound.pattern.rows is RowsPerMatch.ALL_WITH_UNMATCHED:
                # rule 6.6: every measure of an unmatched row is NULL
                text = f"CASE WHEN {MATCH_NUMBER} IS NOT NULL THEN {text} END"
            measured.append((measure.name, text))
        inputs = [(name, quoted(name)) for name in self.bound.input_columns]
        before = self.bound.columns_before_measures
        return (*inputs[:before], *measured, *inputs[before:])

    def read_types(self) -> list[DataType]:
        """The types that Spark gives to the reads; only the analysis of a query, no job."""
        if not self.reads:
            return []
        values: list[Value | Folded] = [read for read in self.reads if isinstance(read, Value)]
        folded: list[Value | Folded] = [read for read in self.reads if isinstance(read, Folded)]
        kinds: dict[Value | Folded, DataType] = {}
        for reads in (values, folded):  # aggregates are in a query of their own
            if reads:
                fields = self.rows.select(
                    *(_in_spark(read).alias(f"c{n}") for n, read in enumerate(reads))
                ).schema.fields
                kinds |= {read: field.dataType for read, field in zip(reads, fields, strict=True)}
        return [kinds[read] for read in self.reads]

    def _check_reads(self) -> None:
        """What mixes labels and Spark's own functions has no one who could compute it."""
        for expression in self._row_expressions():
            if mentions(expression, LABEL) or mentions(expression, NUMBER):
                for node in walk(expression):
                    if isinstance(node, SparkExpression):
                        raise located(
                            ConditionError(
                                "MATCH_RECOGNIZE",
                                f"{node.function} is used with CLASSIFIER() or MATCH_NUMBER() in a function of rows",
                                "put it around: f(LAST(…)) instead of LAST(f(…))",
                            )
                        )

    def _row_expressions(self) -> list[Expression]:
        """Every expression over a row that the workers need values of."""
        found: list[Expression] = []
        if self.tables is not None:
            found += [*self.tables.near_columns, *self.tables.columns]
        found += [read.argument for read in self.reads if read.argument is not None]
        return [each for each in dict.fromkeys(found) if not (isinstance(each, RowColumn) and each.name == "__row")]

    def _computed_by_spark(self) -> list[Expression]:
        return [expression for expression in self._row_expressions() if _is_for_spark(expression)]


class BatchRowPlan(RowPatternPlan):
    """How a row pattern runs on a batch DataFrame."""

    def __init__(self, pattern: RowPattern, rows: DataFrame, movement: Movement, limits: Limits) -> None:
        super().__init__(pattern, rows, limits)
        self.movement = movement

    @cached_property
    def buckets(self) -> int:
        """How many buckets the keys are spread over."""
        if not self.partition_by:
            return 1
        return self.movement.buckets or bucket_count(estimated_bytes(self.rows), parallelism(self.rows))

    def result(self) -> DataFrame:
        """The lazy DataFrame of the result."""
        moved = self._packed() if self.movement.shuffle == "packed" else self._sorted()
        return moved.select(*[F.expr(text).alias(name) for name, text in self.result_columns()])

    def _packed(self) -> DataFrame:
        """What the workers give, of buckets in their memory."""
        mask = None if self._workers_have_all else self.mask()
        prepared, pack = self._by_number(mask) if self._key_is_numbers else self._with_buckets(mask)
        match = MatchRows(**self.work_fields(), max_bucket_bytes=self.movement.max_bucket_bytes)
        return packed(prepared, pack, self.buckets).mapInArrow(shipped(match), self.worker_schema)

    @property
    def _workers_have_all(self) -> bool:
        """Whether the workers can compute what conditions ask of a row alone as Spark would, from columns that travel
        in any case. To compute it here, too, would cost a column more; but rows without any column would be none."""
        if self.tables is None:
            return False
        travelling = frozenset(self.travelling)
        return bool(travelling) and all(
            is_portable(condition) and not _has_moments(condition) and travelling.issuperset(columns_of(condition))
            for condition in self.tables.own
        )

    @property
    def _key_is_numbers(self) -> bool:
        kinds = [self.rows.schema[name].dataType for name in self.partition_by]
        return bool(kinds) and all(isinstance(kind, _NUMBERS) for kind in kinds)

    def _sorted(self) -> DataFrame:
        """What the workers give, of rows that Spark sorts."""
        if self.tables is None:
            raise InputError(
                'shuffle="spark" is not possible here: the reference evaluator runs this row pattern, and needs all '
                "rows of a key at once.\n  Leave shuffle= out."
            )
        mask = self.mask()
        assert mask is not None
        rows = self.rows.select(*self.columns(), mask.alias(MASK))
        keys = key_columns(self.rows.schema, self.partition_by)
        spread = rows.repartition(self.buckets, *keys) if keys else rows.repartition(1)
        order = [_in_order(sort) for sort in self.bound.order_by]
        in_order = spread.sortWithinPartitions(*keys, *order) if keys or order else spread
        return mapped(in_order, MatchSortedRows(**self.work_fields()), self.worker_schema)

    def _by_number(self, mask: Column | None) -> tuple[DataFrame, Pack]:
        """What travels where the workers compute the buckets, and how it is packed."""
        columns = self.columns() if mask is None else [*self.columns(), mask.alias(MASK)]
        return self.rows.select(*columns), PackByNumber(self.partition_by, buckets=self.buckets)

    def _with_buckets(self, mask: Column | None) -> tuple[DataFrame, Pack]:
        """What travels where Spark computes the buckets, and how it is packed. The bits of the variables are beside the
        bucket, if they fit there."""
        bucket = bucket_of(self.rows.schema, self.partition_by, self.buckets) if self.partition_by else F.lit(0)
        columns, bits = self.columns(), 0
        if mask is not None and self.tables is not None:
            bits = len(self.tables.variables)
            if bits + (self.buckets - 1).bit_length() < 63:
                bucket = F.shiftleft(bucket.cast("bigint"), bits).bitwiseOR(mask)
            else:
                bits = 0
                columns.append(mask.alias(MASK))
        prepared = self.rows.select(*columns, bucket.cast("bigint").alias(BUCKET))
        return prepared, Pack(self.partition_by, bits, MASK)


class FoundRowPatterns:
    """What a row pattern finds in a DataFrame."""

    def __init__(self, plan: BatchRowPlan) -> None:
        self._plan = plan

    @cached_property
    def matches(self) -> DataFrame:
        """The table that MATCH_RECOGNIZE is: partition columns, measures and, with ALL ROWS, all other columns."""
        return self._plan.result()

    def explain(self) -> Explanation:
        """Explain what the clause means and how it is run."""
        return explain(self._plan.bound.pattern)


def _in_order(sort: Sort) -> Column:
    """A column of ORDER BY, NULLs where the clause wants them."""
    column = F.col(quoted(sort.column.parts[0]))
    if sort.descending:
        return column.desc_nulls_first() if sort.nulls_first else column.desc_nulls_last()
    return column.asc_nulls_first() if sort.nulls_first else column.asc_nulls_last()


def _is_for_spark(expression: Expression) -> bool:
    """Whether an expression over a row must be Spark's: a function that only Spark has, or one that depends on the
    session's time zone. All others are computed by the workers, and only where they are needed."""
    if isinstance(expression, RowColumn | Literal) or mentions(expression, LABEL) or mentions(expression, NUMBER):
        return False
    nodes = list(walk(expression))
    by_zone = any(isinstance(node, Cast | FunctionCall) for node in nodes) and any(n.type.is_moment for n in nodes)
    return by_zone or any(isinstance(node, SparkExpression) for node in nodes)


def _has_moments(expression: Expression) -> bool:
    """Whether an expression has moments that are not columns: which ones they are, the session's time zone may say."""
    return any(node.type.is_moment for node in walk(expression) if not isinstance(node, RowColumn))


def _in_spark(read: Value | Folded) -> Column:
    """A column of the type that Spark gives to a read."""
    argument = F.lit(1) if read.argument is None else to_column(replaced(read.argument, _of_any_row))
    return argument if isinstance(read, Value) else _FUNCTIONS[read.function](argument)


def _of_any_row(node: Expression) -> Expression | None:
    if isinstance(node, RowColumn) and node.name == LABEL:
        return Cast(Literal(None, type=types.NULL), type=types.STRING)
    if isinstance(node, RowColumn) and node.name == NUMBER:
        return Literal(0, type=types.LONG)
    return None
