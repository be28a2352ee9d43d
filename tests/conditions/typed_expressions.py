"""Random rows of every type and random SQL over them: strategies of Hypothesis for the tests of evaluators.

`tables` gives rows, `texts_of` the text of an expression of a sort (number, text, moment, interval, condition); texts
do not always fit the types of the columns, `bound` says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa
from hypothesis import strategies as st

from cepheid.conditions import Schema, parse
from cepheid.conditions.checking import Checker
from cepheid.conditions.expression import Expression
from cepheid.conditions.scope import Scope

# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def whole_numbers(bits: int) -> st.SearchStrategy[int]:
    limit = 1 << (bits - 1)
    extremes = [-limit, -limit + 1, limit - 1, limit // 2]
    return st.one_of(st.integers(-3, 3), st.sampled_from(extremes), st.integers(-limit, limit - 1))


def doubles(width: Literal[32, 64]) -> st.SearchStrategy[float]:
    usual = [0.0, -0.0, 1.0, -1.5, 2.5, math.nan, math.inf, -math.inf, float(1 << 63), -float(1 << 63), float(1 << 31)]
    return st.one_of(st.sampled_from(usual), st.floats(width=width))


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    limit = 10**precision - 1
    digits = st.one_of(st.integers(-300, 300), st.sampled_from([-limit, limit]), st.integers(-limit, limit))
    return digits.map(lambda unscaled: Decimal(unscaled).scaleb(-scale))


TEXTS = st.one_of(
    st.sampled_from(
        ["", "a", "A", "ab", "a%b", "a_b", "a\\b", " a ", "ß", "añb", "日本", "\U0001f600", "a\nb", "1", "x!"]
    ),
    st.text(max_size=4),
)
MOMENTS = st.one_of(
    st.sampled_from([datetime.min, datetime.max, datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999_999)]),
    st.datetimes(),
)
# The hours around which Berlin's clocks were changed in 2024, and any others that are in the calendar there, too.
CLOCK_CHANGES = [datetime(2024, month, day, hour, 30) for month, day in ((3, 31), (10, 27)) for hour in range(3)]
MOMENTS_IN_BERLIN = st.one_of(
    st.sampled_from(CLOCK_CHANGES), st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))
).map(lambda moment: moment.replace(tzinfo=UTC))
DAYS = st.one_of(st.sampled_from([date.min, date.max, date(1969, 12, 31)]), st.dates())
INTERVALS = st.timedeltas(timedelta(days=-100_000_000), timedelta(days=100_000_000))
COLUMNS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "tiny": (pa.int8(), whole_numbers(8)),
    "small": (pa.int16(), whole_numbers(16)),
    "n": (pa.int32(), whole_numbers(32)),
    "m": (pa.int64(), whole_numbers(64)),
    "f": (pa.float32(), doubles(32)),
    "d": (pa.float64(), doubles(64)),
    "price": (pa.decimal128(9, 2), decimals(9, 2)),
    "unsigned": (pa.uint64(), st.integers(0, 3) | st.integers(0, (1 << 64) - 1)),
    "amount": (pa.decimal128(20, 4), decimals(20, 4)),
    "flag": (pa.bool_(), st.booleans()),
    "s": (pa.string(), TEXTS),
    "code": (pa.dictionary(pa.int8(), pa.string()), TEXTS),
    "raw": (pa.binary(), st.binary(max_size=2)),
    "at": (pa.timestamp("us", "UTC"), MOMENTS.map(lambda moment: moment.replace(tzinfo=UTC))),
    "berlin": (pa.timestamp("us", "Europe/Berlin"), MOMENTS_IN_BERLIN),
    "local": (pa.timestamp("us"), MOMENTS),
    "day": (pa.date32(), DAYS),
    "gap": (pa.duration("us"), INTERVALS),
}
SCHEMA = Schema.from_arrow(pa.schema([(name, arrow) for name, (arrow, _) in COLUMNS.items()]))


@st.composite
def tables(draw: st.DrawFn, names: Sequence[str], fewest: int = 1) -> pa.Table:
    """A few rows of the named columns, in two chunks, the second of which does not begin where its buffers do."""
    names = names or ["n"]
    events = st.fixed_dictionaries({name: st.none() | COLUMNS[name][1] for name in names})
    rows = draw(st.lists(events, min_size=fewest, max_size=6))
    table = pa.Table.from_pylist(rows, pa.schema([(name, COLUMNS[name][0]) for name in names]))
    cut = draw(st.integers(0, len(rows)))
    return pa.concat_tables([table.slice(0, cut), table.slice(cut)])


# ── expressions, as text ─────────────────────────────────────────────────────────────────────────────────────────────

NUMBER_LITERALS = [
    *("NULL", "0", "1", "2", "-1", "7", "127Y", "1S", "2147483647", "10000000000", "9223372036854775807"),
    *("1.5", "-0.25", "100.00", "0.0D", "1e0", "1.5F", "2.5e300", "CAST('NaN' AS DOUBLE)"),
]
TEXT_LITERALS = ["''", "'a'", "'ab'", "'ß'", "' a'", "NULL"]
LEAVES = {
    "number": st.sampled_from(
        ["tiny", "small", "n", "m", "f", "d", "price", "amount", "unsigned"] * 3 + NUMBER_LITERALS
    ),
    "text": st.sampled_from(["s", "code"] * 3 + TEXT_LITERALS),
    "moment": st.sampled_from(["at", "berlin", "local", "day", "TIMESTAMP '2024-01-31 13:45:00'", "DATE '2024-02-29'"]),
    "interval": st.sampled_from(["gap", "INTERVAL '1' DAY", "INTERVAL '90' MINUTE"]),
    "condition": st.sampled_from(["flag", "flag", "TRUE", "FALSE", "CAST(NULL AS BOOLEAN)"]),
}
WORDS = {
    "arithmetic": st.sampled_from(["+", "-", "*", "/", "%"]),
    "whole": st.sampled_from(["tiny", "small", "n", "m", "0", "2", "-1"]),
    "factor": st.sampled_from(["2", "0", "tiny", "n", "price", "0.5"]),
    "plus": st.sampled_from(["+", "-"]),
    "times": st.sampled_from(["*", "/"]),
    "comparison": st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"]),
    "sign": st.sampled_from(["ABS", "NEGATIVE"]),
    "signed": st.sampled_from(["ABS", "NEGATIVE", "FLOOR", "CEIL", "ROUND"]),
    "changed": st.sampled_from(["UPPER", "LOWER", "TRIM"]),
    "extreme": st.sampled_from(["GREATEST", "LEAST"]),
    "part": st.sampled_from(["YEAR", "MONTH", "DAY", "DAYOFWEEK", "HOUR", "MINUTE", "SECOND"]),
    "unit": st.sampled_from(["MICROSECOND", "MILLISECOND", "SECOND", "minute", "HOUR"]),
    "looked_for": st.sampled_from(["STARTSWITH", "ENDSWITH", "CONTAINS"]),
    "regular": st.sampled_from(["a", "^a", "^a.?b$", "[^a]", "\\\\d", "\\\\w+", "(?i)A", "a|ß", "^$"]),
    "number_type": st.sampled_from(
        ["TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5,1)", "DECIMAL(38,6)"]
    ),
    "moment_type": st.sampled_from(["DATE", "TIMESTAMP", "TIMESTAMP_NTZ"]),
    "place": st.integers(-4, 4).map(str),
    "pattern": st.text("a%_b!\\ñ", max_size=5).map(lambda pattern: pattern.replace("\\", "\\\\")),
    "escape": st.sampled_from(["!", "%", "ñ"]),
    "negated": st.sampled_from(["", "NOT "]),
    "truth": st.sampled_from(["TRUE", "FALSE"]),
    "number_literal": st.sampled_from(NUMBER_LITERALS),
    "text_literal": st.sampled_from(TEXT_LITERALS),
}
SHAPES = {
    "number": [
        *("({number} {arithmetic} {number})",) * 3,
        "({whole} DIV {whole})",
        "{signed}({number})",
        "CAST({number} AS {number_type})",
        "CAST({condition} AS {number_type})",
        "CAST({moment} AS {number_type})",
        "LENGTH({text})",
        "INSTR({text}, {text})",
        "{part}({moment})",
        "SQRT({number})",
        "DATEDIFF({moment}, {moment})",
        "UNIX_MICROS(CAST({moment} AS TIMESTAMP))",
        "TIMESTAMPDIFF({unit}, {moment}, {moment})",
    ],
    "text": [
        "{changed}({text})",
        "CONCAT({text}, {text})",
        "SUBSTRING({text}, {place}, {place})",
        "SUBSTRING({text}, {place})",
        "CAST({number} AS STRING)",
        "CAST({moment} AS STRING)",
        "CAST({condition} AS STRING)",
        "SPLIT_PART({text}, {text}, {place})",
    ],
    "moment": [
        "({moment} {plus} {interval})",
        "({interval} + {moment})",
        "(day {plus} {number})",
        "(tiny + day)",
        "CAST({moment} AS {moment_type})",
    ],
    "interval": [
        "({moment} - {moment})",
        "({interval} {plus} {interval})",
        "({interval} {times} {factor})",
        "({factor} * {interval})",
        "{sign}({interval})",
    ],
    "condition": [
        *("({number} {comparison} {number})", "({text} {comparison} {text})", "({moment} {comparison} {moment})"),
        *("({interval} {comparison} {interval})", "({condition} {comparison} {condition})", "(raw {comparison} raw)"),
        *("({number} IN ({number}, {number}))", "({text} IN ({text}, {text}))", "({moment} IN ({moment}, {moment}))"),
        *("({text} IN ({text_literal}, {text_literal}))", "({number} IN ({number_literal}, {number_literal}))"),
        *("({number} BETWEEN {number} AND {number})", "({text} BETWEEN {text} AND {text})"),
        *("({number} IS {negated}NULL)", "({text} IS {negated}NULL)", "({interval} IS {negated}NULL)", "(raw IS NULL)"),
        *("({text} LIKE '{pattern}')", "({text} LIKE '{pattern}' ESCAPE '{escape}')", "({text} LIKE {text})"),
        *("({text} RLIKE '{regular}')", "{looked_for}({text}, {text})", "{looked_for}({text}, {text_literal})"),
        *("({condition} AND {condition})",) * 2,
        *("({condition} OR {condition})",) * 2,
        "({condition} AND {condition} AND {condition})",
        "(NOT {condition})",
        "({condition} IS {negated}{truth})",
        "CAST({number} AS BOOLEAN)",
    ],
}
OF_ANY_SORT = [
    "CASE WHEN {condition} THEN {same} WHEN {condition} THEN {same} ELSE {same} END",
    "CASE WHEN {condition} THEN {same} END",
    "COALESCE({same}, {same})",
    "COALESCE({same}, NULL, {same})",
    "{extreme}({same}, {same}, NULL, {same})",
]
BLANK = re.compile(r"{(\w+)}")


@st.composite
def texts_of(draw: st.DrawFn, sort: str, depth: int) -> str:
    """SQL for a value of the sort, nested to the given depth at most; now and then of types that do not fit."""
    shape = draw(st.sampled_from(SHAPES[sort] * 2 + OF_ANY_SORT)) if depth else "{leaf}"

    def fill(blank: re.Match[str]) -> str:
        inner = sort if blank[1] == "same" else blank[1]
        if inner == "leaf":
            return str(draw(LEAVES[sort]))
        return str(draw(texts_of(inner, draw(st.integers(0, depth - 1))) if inner in LEAVES else WORDS[inner]))

    return BLANK.sub(fill, shape)


def bound(text: str) -> Expression:
    """The expression over the columns of `SCHEMA`, a `ConditionError` where its types do not fit."""
    return Checker(Scope("condition", SCHEMA, (), (), frozenset())).bind(parse(text))
