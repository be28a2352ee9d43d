"""The evaluator without Spark gives what Spark gives (rule 11), on random expressions over random rows.

For each row the same value of the same type, or an error from both. Spark evaluates a batch of expressions in one job:
its own `TryEval` makes NULL of an error, row by row, and an array around each value tells that NULL from one that is a
value. Nothing is shrunk: what is reported is one expression on one row already.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from conditions.arrow.test_against_rows import same
from conditions.typed_expressions import SCHEMA, bound, tables, texts_of
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cepheid.conditions.arrow.evaluation import evaluate_or_fall_back
from cepheid.conditions.casting import BEYOND_THE_CALENDAR, single
from cepheid.conditions.expression import Call, Cast, Column, Expression, walk
from cepheid.conditions.types import DataType, Kind
from cepheid.errors import ConditionError, EvaluationError
from cepheid.spark.session import settings as session_settings

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

SIGNED = ("ABS", "NEGATIVE")
WRITTEN = (Kind.STRING, Kind.DECIMAL)
SORTS = ("condition", "condition", "number", "text", "moment", "interval")
TEXTS_PER_BATCH = 12
# Some hundred expressions in the usual run, some thousand with the profile `search`.
EXAMPLES = settings().max_examples * 8 // 10


@dataclass(frozen=True, slots=True)
class Failed:
    """What a row gives whose evaluation raises."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The Arrow type of an expression, None if every row failed, and per row its value or that it failed."""

    type: Any
    rows: list[Any]


class Batch:
    """Expressions, and rows of the columns that they read; the texts that binding refuses are counted only."""

    def __init__(self, expressions: dict[str, Expression], refused: int, table: pa.Table) -> None:
        self.expressions, self.refused, self.table = expressions, refused, table

    def __repr__(self) -> str:
        return f"{list(self.expressions)} on {self.table.to_pylist()}"


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    text = st.builds(texts_of, st.sampled_from(SORTS), st.integers(1, 3)).flatmap(lambda texts: texts)
    texts = draw(st.lists(text, min_size=TEXTS_PER_BATCH, max_size=TEXTS_PER_BATCH, unique=True))
    expressions: dict[str, Expression] = {}
    for one in texts:
        try:
            expressions[one] = bound(one)
        except ConditionError:
            continue
    names = dict.fromkeys(name for expression in expressions.values() for name in names_in(expression))
    return Batch(expressions, len(texts) - len(expressions), draw(tables(tuple(names), fewest=4)))


def names_in(expression: Expression) -> list[str]:
    return list(dict.fromkeys(node.name for node in walk(expression) if isinstance(node, Column)))


# ── the answers here ─────────────────────────────────────────────────────────────────────────────────────────────────


def answer_here(expression: Expression, table: pa.Table) -> Answer:
    try:
        array = evaluate_or_fall_back(expression, table)
        return Answer(array.type, plain(array))
    except EvaluationError:
        parts = [_answer_on_row(expression, table.slice(number, 1)) for number in range(table.num_rows)]
        return joined(parts)


def joined(parts: list[Answer]) -> Answer:
    known = [part.type for part in parts if part.type is not None]
    return Answer(known[0] if known else None, [row for part in parts for row in part.rows])


def _answer_on_row(expression: Expression, row: pa.Table) -> Answer:
    try:
        array = evaluate_or_fall_back(expression, row)
    except EvaluationError as error:
        return Answer(None, [Failed(str(error))])
    return Answer(array.type, plain(array))


def plain(array: Any) -> list[Any]:
    """Python values; times as whole numbers, since Spark's go beyond Python's."""
    if pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        array = array.view(pa.int64())
    elif pa.types.is_date(array.type):
        array = array.view(pa.int32())
    values: list[Any] = array.to_pylist()
    return values


# ── Spark's answers ──────────────────────────────────────────────────────────────────────────────────────────────────

# Left alone, Spark evaluates so few rows while it plans, by other code than on a cluster; and it computes what two
# expressions share before either, outside of `TryEval`.
AS_ON_A_CLUSTER = ("ConvertToLocalRelation",)
# Where the two differ Spark is asked again without these, which do not keep to the letter what an expression means:
# they leave out what cannot matter to the value, its errors included (`x / 0 > 1 AND FALSE` becomes FALSE), compute
# constants that no row needs, and skip the float that an int is cast to on its way to a double.
SIMPLIFICATIONS = (
    *("BooleanSimplification", "ConstantFolding", "FoldablePropagation", "LikeSimplification", "NullDownPropagation"),
    *("NullPropagation", "OptimizeIn", "PushFoldableIntoBranches", "ReorderAssociativeOperator"),
    *("SimplifyBinaryComparison", "SimplifyCasts", "SimplifyConditionals", "UnwrapCastInBinaryComparison"),
)


def options(left_out_rules: tuple[str, ...]) -> dict[str, str]:
    """Spark without those rules of its optimizer, and without sharing what expressions have in common."""
    package = "org.apache.spark.sql.catalyst.optimizer"
    return {
        "spark.sql.optimizer.excludedRules": ",".join(f"{package}.{rule}" for rule in left_out_rules),
        "spark.sql.subexpressionElimination.enabled": "false",
    }


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """The rows in Spark, with the types that the expressions were bound to."""
    found = dict(SCHEMA)
    columns = [
        # Spark's Python has no way in for dictionaries and unsigned numbers.
        table[name].cast({"code": pa.string(), "unsigned": pa.decimal128(20, 0)}.get(name, table[name].type))
        for name in table.column_names
    ]
    types = ", ".join(f"{name} {found[name]}" for name in table.column_names)
    return spark.createDataFrame(pa.table(columns, names=table.column_names), types)


def tried(spark: SparkSession, text: str) -> SparkColumn:
    from pyspark.sql import Column as PySparkColumn
    from pyspark.sql.functions import expr

    jvm: Any = spark.sparkContext._jvm
    columns = jvm.org.apache.spark.sql.classic.ExpressionUtils
    expression = columns.expression(expr(f"array({text})")._jc)
    tried_one = columns.column(jvm.org.apache.spark.sql.catalyst.expressions.TryEval(expression))
    return PySparkColumn(tried_one)


def answers_of_spark(spark: SparkSession, table: pa.Table, texts: list[str]) -> list[Answer]:
    from pyspark.errors import AnalysisException, PySparkException

    chosen = [tried(spark, text).alias(f"value_{number}") for number, text in enumerate(texts)]
    try:
        computed = frame_of(spark, table).select(*chosen).toArrow()
        return [_unwrapped(column.combine_chunks()) for column in computed.columns]
    except PySparkException as error:
        # What Spark computes ahead, constants and the left side of BETWEEN, fails outside of `TryEval`.
        if len(texts) > 1:
            return [answers_of_spark(spark, table, [text])[0] for text in texts]
        assert not isinstance(error, AnalysisException), f"Spark refuses `{texts[0]}`, which was bound here: {error}"
        if table.num_rows == 1:
            return [Answer(None, [Failed(str(error))])]
    rows = [answers_of_spark(spark, table.slice(number, 1), texts)[0] for number in range(table.num_rows)]
    return [joined(rows)]


def _unwrapped(tried_values: Any) -> Answer:
    values = iter(plain(tried_values.flatten()))
    return Answer(
        tried_values.type.value_type,
        [next(values) if succeeded else Failed() for succeeded in tried_values.is_valid().to_pylist()],
    )


# ── the comparison ───────────────────────────────────────────────────────────────────────────────────────────────────


class KnownDifference(StrEnum):
    """Why the two differ, known and meant, as `conditions/spark_4_3_answers.jsonl` says."""

    CALENDAR = "Python's years end at 9999"
    DIGITS = "Spark rounds a negative decimal to 34 digits; here all are kept"
    JAVA = "Java 17 writes some doubles with more digits than they need"


def is_beyond_the_calendar(here: Any, in_spark: Any) -> bool:
    return isinstance(here, Failed) and not isinstance(in_spark, Failed) and BEYOND_THE_CALENDAR in here.why


def has_too_many_digits(expression: Expression) -> bool:
    signed = (node for node in walk(expression) if isinstance(node, Call) and node.name in SIGNED)
    return any(node.type.precision > 34 for node in signed)


def doubles_written_in(expression: Expression) -> Iterator[str]:
    """The doubles whose digits, as Java writes them, matter to the value: each as an expression that gives them."""
    for node in walk(expression):
        if isinstance(node, Call) and node.name == "ROUND" and node.type.is_fractional:
            yield f"CAST({node.operands[0]} AS STRING)"
        elif isinstance(node, Cast) and node.operand.type.is_fractional and node.type.kind in WRITTEN:
            yield f"CAST({node.operand} AS STRING)"


def are_one_number(here: str, in_spark: str, data_type: DataType) -> bool:
    first, second = float(here), float(in_spark)
    return first == second or (data_type.kind is Kind.FLOAT and single(first) == single(second))


def agree(here: Any, in_spark: Any) -> bool:
    if isinstance(here, Failed) or isinstance(in_spark, Failed):
        return isinstance(here, Failed) and isinstance(in_spark, Failed)
    return bool(same(here, in_spark))


class Comparison:
    """Compares batch after batch, and counts what was compared."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.seen: Counter[str] = Counter()
        self._compared: set[str] = set()

    def compare(self, batch: Batch) -> None:
        self.seen["refused here"] += batch.refused
        # Hypothesis likes to repeat parts of its examples; Spark takes too long for that.
        expressions = {text: of for text, of in batch.expressions.items() if text not in self._compared}
        if not expressions:
            return
        with session_settings(self._spark, options(AS_ON_A_CLUSTER)):
            answers = answers_of_spark(self._spark, batch.table, list(expressions))
        for (text, expression), in_spark in zip(expressions.items(), answers, strict=True):
            here = answer_here(expression, batch.table)
            if not all(map(agree, here.rows, in_spark.rows)):
                self.seen["looked at without simplifications"] += 1
                with session_settings(self._spark, options(AS_ON_A_CLUSTER + SIMPLIFICATIONS)):
                    (in_spark,) = answers_of_spark(self._spark, batch.table, [text])
            self._compare(text, expression, batch.table, here, in_spark)
            self._compared.add(text)

    def _compare(self, text: str, expression: Expression, table: pa.Table, here: Answer, in_spark: Answer) -> None:
        self.seen["compared"] += 1
        types = {answer.type for answer in (here, in_spark) if answer.type is not None}
        assert len(types) < 2, f"{text}\n  here: {here.type}\n  in Spark: {in_spark.type}"
        for number, (ours, theirs) in enumerate(zip(here.rows, in_spark.rows, strict=True)):
            if agree(ours, theirs):
                self.seen["NULL" if ours is None else "failure" if isinstance(ours, Failed) else "value"] += 1
                continue
            reason = self._known_difference(expression, table.slice(number, 1), ours, theirs)
            row = {name: table[name][number].as_py() for name in names_in(expression)}
            assert reason, f"{text}\n  bound: {expression}\n  on: {row}\n  here: {ours}\n  in Spark: {theirs}"
            self.seen[reason] += 1

    def _known_difference(self, expression: Expression, row: pa.Table, here: Any, in_spark: Any) -> str | None:
        if is_beyond_the_calendar(here, in_spark):
            return KnownDifference.CALENDAR
        if has_too_many_digits(expression):
            return KnownDifference.DIGITS
        return KnownDifference.JAVA if self._java_writes_more_digits(expression, row) else None

    def _java_writes_more_digits(self, expression: Expression, row: pa.Table) -> bool:
        """Whether Java writes a double that the value depends on otherwise than with as few digits as tell it."""
        for text in doubles_written_in(expression):
            written = bound(text)
            with session_settings(self._spark, options(AS_ON_A_CLUSTER)):
                in_spark = answers_of_spark(self._spark, row, [text])[0].rows[0]
            here = answer_here(written, row).rows[0]
            are_texts = isinstance(here, str) and isinstance(in_spark, str)
            if are_texts and here != in_spark and are_one_number(here, in_spark, written.children[0].type):
                return True
        return False


@pytest.fixture
def comparison(spark: SparkSession) -> Comparison:
    return Comparison(spark)


def test_random_expressions_have_the_values_that_spark_gives(comparison: Comparison) -> None:
    unshrunk = functools.partial(
        settings, phases=(Phase.explicit, Phase.reuse, Phase.generate), suppress_health_check=list(HealthCheck)
    )

    @unshrunk(max_examples=EXAMPLES)
    @given(batches())
    def compare(batch: Batch) -> None:
        comparison.compare(batch)

    compare()
    seen = comparison.seen
    # The test must not become empty, whatever binding and the list of known differences leave out.
    assert seen["compared"] > max(2 * EXAMPLES, 2 * seen["refused here"]), seen
    assert seen["value"] > seen["compared"], seen
    assert seen["NULL"] > EXAMPLES, seen
    assert seen["failure"] > EXAMPLES // 10, seen
    assert seen["looked at without simplifications"] < seen["compared"] // 10, seen
    assert sum(seen[reason] for reason in KnownDifference) < seen["value"] // 20, seen
