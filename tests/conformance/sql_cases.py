"""Conformance cases of MATCH_RECOGNIZE (sql/FORMAT.md), and how an answer is judged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

_TYPES = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
}
OURS: dict[str, str] = {
    # rule 2.2: where nothing is said NULLs come first in ascending order, as in Spark
    "probe/order-default-nulls-asc": "NULLS LAST",
    # rule 1.1: DEFINE is optional
    "probe/no-define": "accepted",
    # a query inside a condition is refused here
    "probe/error-subquery-in-define": "refused",
}
"""Cases in which the rules leave a choice and Trino chose otherwise. NULLS LAST: the answer is that of the clause with
these words after its ORDER BY column."""


@dataclass(frozen=True)
class SqlCase:
    """One line of a corpus."""

    data: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.data["id"])

    @property
    def features(self) -> list[str]:
        return list(self.data["features"])

    @property
    def clause(self) -> str:
        clause = str(self.data["clause"])
        return clause.replace("ORDER BY v", "ORDER BY v NULLS LAST") if OURS.get(self.id) == "NULLS LAST" else clause

    @property
    def answer(self) -> dict[str, Any]:
        given: dict[str, Any] = self.data.get("standard", self.data["expected"])
        return given

    @property
    def is_refused(self) -> bool:
        """Whether it is an error before any row is read."""
        return "error" in self.answer and self.answer["error"]["category"] != "skip"

    @property
    def table(self) -> pa.Table:
        kinds = [_TYPES[column["type"]] for column in self.data["columns"]]
        columns = list(zip(*self.data["rows"], strict=True)) or [()] * len(kinds)
        arrays = [
            pa.array([_value(v, kind) for v in column], kind) for column, kind in zip(columns, kinds, strict=True)
        ]
        return pa.Table.from_arrays(arrays, names=[column["name"] for column in self.data["columns"]])


def judge_table(case: SqlCase, found: pa.Table | BaseException) -> str | None:
    """What is wrong with an answer, or None if it is right."""
    from cepheid import MalformedPatternError, SkipError

    ours = OURS.get(case.id)
    category = case.answer["error"]["category"] if "error" in case.answer else None
    if isinstance(found, BaseException):
        wanted = SkipError if category == "skip" else MalformedPatternError
        if isinstance(found, wanted) and (ours == "refused" or (category is not None and ours is None)):
            return None
        return f"{type(found).__name__}: {found}"
    if ours == "accepted":
        return None
    if category is not None or ours == "refused":
        return f"accepted, but: {case.answer.get('error')}"
    expected = case.answer["columns"]
    if found.column_names != [column["name"] for column in expected]:
        return f"columns: {found.column_names} instead of {[column['name'] for column in expected]}"
    for column, field in zip(expected, found.schema, strict=True):
        if found.num_rows and not _is_of_type(field.type, column["type"]):
            return f"column {column['name']} is of type {field.type} instead of {column['type']}"
    rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
    wanted_rows = [
        tuple(_expected(value, column["type"]) for value, column in zip(row, expected, strict=True))
        for row in case.answer["rows"]
    ]
    got_rows = [tuple(_normal(v, c["type"]) for v, c in zip(row, expected, strict=True)) for row in rows]
    keys = _partition_width(case)
    wanted_by, got_by = _by_partition(wanted_rows, keys), _by_partition(got_rows, keys)
    for key in wanted_by.keys() | got_by.keys():
        wanted_here, got_here = wanted_by.get(key, []), got_by.get(key, [])
        if len(wanted_here) != len(got_here):
            shown = f"{got_here[:3]} instead of {wanted_here[:3]}"
            return f"partition {key}: {len(got_here)} rows instead of {len(wanted_here)}: {shown}"
        for number, (one, other) in enumerate(zip(wanted_here, got_here, strict=True)):
            if not all(map(_same, one, other)):
                return f"partition {key}, row {number}: {other} instead of {one}"
    return None


def _partition_width(case: SqlCase) -> int:
    from cepheid.match_recognize import read

    return len(read(case.clause).partition_by)


def _by_partition(rows: list[tuple[Any, ...]], width: int) -> dict[tuple[Any, ...], list[tuple[Any, ...]]]:
    found: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row in rows:
        found.setdefault(row[:width], []).append(row)
    return found


def _value(value: Any, kind: pa.DataType) -> Any:
    if value is not None and pa.types.is_timestamp(kind):
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    return value


def _expected(value: Any, kind: str) -> Any:
    if kind.startswith("array"):  # FORMAT.md: Spark's array_agg drops NULLs and gives an empty array for no rows
        return [item for item in value or [] if item is not None]
    return datetime.fromisoformat(value).replace(tzinfo=UTC) if value is not None and kind == "timestamp" else value


def _normal(value: Any, kind: str) -> Any:
    if kind.startswith("array"):
        return value or []
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12) or (math.isnan(one) and math.isnan(other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _is_of_type(kind: pa.DataType, name: str) -> bool:
    if name.startswith("array"):
        return pa.types.is_list(kind)
    if name == "timestamp":
        return pa.types.is_timestamp(kind)
    if name in ("integer", "int"):  # Trino's type of small literals; Spark's int
        return pa.types.is_integer(kind)
    return kind == _TYPES[name] or name not in _TYPES
