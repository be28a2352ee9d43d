"""Own-event conditions on whole columns: the Arrow evaluator, for runs without Spark.

Comes in: a bound expression that reads the current event alone, and a table of events. Goes out: an array with its
value on each row. Called by whoever matches tables in memory. What it computes is what `conditions.evaluation` computes
row by row; where Arrow would compute anything else it refuses (`NotVectorized`), and the rows are gone through singly.

The rows go through in batches that fit a processor's cache. If a batch has a row that fails, that batch is gone through
row by row, so that the error shows the values of the row and is the one that the evaluator by rows raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa

from cepheid.conditions.arrow.expression import columns_of, value_of
from cepheid.conditions.arrow.values import NotVectorized, Rows, arrow_type, filled, stored_as
from cepheid.conditions.casting import cast, shown
from cepheid.conditions.evaluation import compile_expression
from cepheid.conditions.expression import Column, Expression, walk
from cepheid.conditions.predicate import reads_variables
from cepheid.conditions.taken import ListedTaken
from cepheid.conditions.types import Kind, Schema
from cepheid.errors import EvaluationError, InputError

__all__ = ["NotVectorized", "evaluate", "evaluate_or_fall_back"]

_BATCH = 1 << 17
_SMALL_CHUNK = 1 << 12


def evaluate(expression: Expression, table: pa.Table) -> pa.Array:
    """The expression's value on each row, in the Arrow type of its type; `NotVectorized` where Arrow cannot tell."""
    _check(expression, table)
    _check_types(expression, table)
    arrays = [_evaluated(expression, rows) for rows in _batches(expression, table)]
    return pa.concat_arrays(arrays) if arrays else pa.array([], arrow_type(expression.type))


def evaluate_or_fall_back(expression: Expression, table: pa.Table) -> pa.Array:
    """As `evaluate`, but row by row where Arrow cannot tell: all rows, or the batches whose values Arrow refuses."""
    _check(expression, table)
    try:
        _check_types(expression, table)
        arrow_type(expression.type)
    except NotVectorized:
        values = [value for rows in _batches(expression, table) for value in _row_by_row(expression, rows)]
        return _as_array(expression, values)
    arrays = []
    for rows in _batches(expression, table):
        try:
            arrays.append(_evaluated(expression, rows))
        except NotVectorized:
            arrays.append(_as_array(expression, _row_by_row(expression, rows)))
    return pa.concat_arrays(arrays) if arrays else _as_array(expression, [])


def _check(expression: Expression, table: pa.Table) -> None:
    if reads_variables(expression):
        raise AssertionError(f"`{expression}` reads what the run has taken: it has no value on an event alone")
    # What only Spark can compute is refused here, by name.
    compile_expression(expression)
    for name in columns_of(expression):
        if table.column_names.count(name) != 1:
            columns = ", ".join(f"`{column}`" for column in table.column_names)
            raise InputError(f"the condition `{expression}` reads `{name}`\n  the columns are {columns}")


def _check_types(expression: Expression, table: pa.Table) -> None:
    names = columns_of(expression)
    given = dict(Schema.from_arrow(pa.schema([table.schema.field(name) for name in names])))
    for node in walk(expression):
        if not node.type.is_known:
            raise NotVectorized(f"`{node}`, whose type is not known before the run")
        if isinstance(node, Column) and given[node.name] != node.type:
            raise NotVectorized(f"column `{node.name}` as {given[node.name]}: the condition was bound to {node.type}")


def _batches(expression: Expression, table: pa.Table) -> Iterator[Rows]:
    names = columns_of(expression)
    if not names:
        if table.num_rows:
            yield Rows({}, table.num_rows)
        return
    needed = table.select(names)
    if table.num_rows < _SMALL_CHUNK * max(column.num_chunks for column in needed.columns):
        needed = needed.combine_chunks()
    for batch in needed.to_batches(max_chunksize=_BATCH):
        if batch.num_rows:
            yield Rows(dict(zip(names, batch.columns, strict=True)), batch.num_rows)


def _evaluated(expression: Expression, rows: Rows) -> Any:
    try:
        return filled(value_of(expression, rows), rows.length).cast(arrow_type(expression.type))
    except pa.ArrowException as error:
        raise NotVectorized(f"`{expression}` on these values: {error}") from error
    except EvaluationError as error:
        problem = str(error)
    _row_by_row(expression, rows)
    raise NotVectorized(f"`{expression}` on these values: {problem}")


def _row_by_row(expression: Expression, rows: Rows) -> list[Any]:
    """The values as the evaluator by rows computes them, which also knows how to say what is wrong with a row."""
    compute = compile_expression(expression)
    columns = {name: _listed(name, stored) for name, stored in rows.columns.items()}
    nothing_taken = ListedTaken({})
    values = []
    for number in range(rows.length):
        event = {name: column[number] for name, column in columns.items()}
        try:
            value = compute(event, nothing_taken)
            values.append(cast(value, expression.type) if expression.type.kind is Kind.DECIMAL else value)
        except EvaluationError as error:
            given = ", ".join(f"{name} = {shown(value)}" for name, value in event.items())
            problem = f"{error}\n  in: {expression}" + (f"\n  with: {given}" if given else "")
            raise EvaluationError(problem) from error
    return values


def _listed(name: str, stored: Any) -> list[Any]:
    """A column as Python values, those of its Spark type where it has one: times in UTC, whole microseconds."""
    with suppress(NotVectorized, pa.ArrowException):
        stored = stored_as(stored, dict(Schema.from_arrow(pa.schema([(name, stored.type)])))[name])
    try:
        listed: list[Any] = stored.to_pylist()
    except (ValueError, OverflowError) as error:
        raise InputError(f"column `{name}` holds values that Python cannot: {error}") from error
    return listed


def _as_array(expression: Expression, values: list[Any]) -> Any:
    try:
        wanted = arrow_type(expression.type)
    except NotVectorized:
        return pa.array(values)
    try:
        return pa.array(values, wanted)
    except (pa.ArrowException, OverflowError) as error:
        raise EvaluationError(f"overflow: {error}\n  in: {expression}") from error
