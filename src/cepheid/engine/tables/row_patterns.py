"""A bound row pattern as flat arrays for its matcher. Nothing here is compiled.

In: a bound row pattern. Out: `RowTables`: instructions, tests, how registers change, and which expressions over rows
must be computed beforehand; or `NotCompiled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import numpy.typing as npt

from cepheid.conditions.expression import TRUE, Column, Expression, Operator, combine, conjuncts
from cepheid.engine.kernel import row_layout as r
from cepheid.engine.tables.representation import NotCompiled
from cepheid.engine.tables.row_programs import RowPrograms, TestCompiler
from cepheid.options import Limits
from cepheid.rowpattern.binding import BoundRowPattern
from cepheid.rowpattern.expression import LABEL, Value, reads_of, replaced
from cepheid.rowpattern.instructions import Code, Program, compile_pattern
from cepheid.rowpattern.model import RowPattern, SkipTo
from cepheid.rowpattern.splitting import SplitCondition, remembers, split_defines

Integers = npt.NDArray[np.int64]
MAX_VARIABLES = 62
_SKIPS = {
    SkipTo.PAST_LAST_ROW: r.PAST_LAST_ROW,
    SkipTo.NEXT_ROW: r.TO_NEXT_ROW,
    SkipTo.FIRST: r.TO_FIRST,
    SkipTo.LAST: r.TO_LAST,
}


@dataclass(frozen=True, slots=True)
class Near:
    """A test over a row and its neighbours: an expression over columns `names`, each an expression over a row (by its
    number in `RowTables.near_columns`) and a shift."""

    expression: Expression
    names: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class RowTables:
    """What the matcher reads. `own`, `near` and `columns` are computed beforehand, on whole columns."""

    bound: BoundRowPattern
    program: Program
    variables: tuple[str, ...]
    own: tuple[Expression, ...]
    """By variable: what is asked of the row alone."""
    near: tuple[Near | None, ...]
    near_before: tuple[Near | None, ...]
    """The part of `near` that reads no later row: all that is known while later rows may still come."""
    near_columns: tuple[Expression, ...]
    columns: tuple[Expression, ...]
    texts: tuple[str, ...]
    instructions: Integers
    tests: Integers
    reads: Integers
    codes: Integers
    updates: Integers
    updates_of: Integers
    initial: Integers
    params: Integers
    ahead: Integers
    """What measures read of rows after others."""


def mask_of(pattern: RowPattern, variable: str | None) -> int:
    """The bits of the primary variables that a variable stands for; all for None."""
    named = pattern.variables if variable is None else pattern.members(variable)
    return sum(1 << pattern.variables.index(name) for name in named)


def tabulate(bound: BoundRowPattern, max_steps: int = Limits().max_steps) -> RowTables:
    """The tables of a row pattern."""
    pattern = bound.pattern
    variables = pattern.variables
    if len(variables) > MAX_VARIABLES:
        raise NotCompiled(f"more than {MAX_VARIABLES} variables")
    program = compile_pattern(pattern.pattern, variables)
    split = split_defines(bound)
    conditions = [split.get(variable, SplitCondition()) for variable in variables]
    near_columns: list[Expression] = []
    near = tuple(_near(condition.near, near_columns) for condition in conditions)
    near_before = tuple(_near(_reading_back(condition.near), near_columns) for condition in conditions)
    members = {name: pattern.members(name) for name in (*variables, *(subset.name for subset in pattern.subsets))}
    programs = RowPrograms(variables, members)
    compiler = TestCompiler(programs)
    tests = [
        (*((-1, -1, 0, 0) if each.rest == TRUE else compiler.test(each.rest)), _ahead(each.near)) for each in conditions
    ]
    instructions, slots = _instructions(program)
    updates = [update for variable in variables for update in programs.updates.get(variable, ())]
    ends = np.cumsum([len(programs.updates.get(variable, ())) for variable in variables]).tolist()
    params = np.zeros(r.P_SIZE, np.int64)
    params[r.P_SKIP] = _SKIPS[pattern.skip.to]
    params[r.P_MEMORY] = remembers(conditions, pattern.within is not None)
    params[r.P_SLOTS] = slots
    params[r.P_FIRST_MASK] = _first_mask(program)
    params[r.P_WITHIN] = r.NO_WITHIN if pattern.within is None else pattern.within // timedelta(microseconds=1)
    params[r.P_BUDGET] = max_steps
    tables = RowTables(
        bound,
        program,
        variables,
        tuple(condition.own for condition in conditions),
        near,
        near_before,
        tuple(near_columns),
        tuple(programs.columns),
        tuple(programs.texts),
        instructions,
        _array(tests, r.T_SIZE),
        _array(programs.reads, r.R_SIZE),
        _array(programs.code, 3),
        _array(updates, 6),
        _array(list(zip([0, *ends[:-1]], ends, strict=True)), 2),
        np.array([*[0] * programs.registers, programs.known_at_first], np.int64),
        params,
        _array(_read_ahead(bound), r.A_SIZE),
    )
    if pattern.skip.variable is not None:
        params[r.P_SKIP_MASK] = mask_of(pattern, pattern.skip.variable)
    return tables


def rows_read_before(bound: BoundRowPattern) -> int:
    """How many rows before the first row of a match its conditions and measures may read (rule 5.4)."""
    expressions = (*bound.defines.values(), *(measure.expression for measure in bound.measures))
    reads = [read for expression in expressions for read in reads_of(expression)]
    return max(0, *(-read.place.shift for read in reads if isinstance(read, Value)), 0)


def _read_ahead(bound: BoundRowPattern) -> list[tuple[int, int, int, int]]:
    """The reads of measures that go to later rows. A label is read of the rows of the match alone (rule 5.7)."""
    found: dict[tuple[int, int, int, int], None] = {}
    for measure in bound.measures:
        for read in reads_of(measure.expression):
            if not isinstance(read, Value) or (isinstance(read.argument, Column) and read.argument.name == LABEL):
                continue
            place = read.place
            if place.shift > 0:
                labels = 0 if place.variable is None else mask_of(bound.pattern, place.variable)
                found[labels, int(place.from_first), place.offset, place.shift] = None
    return list(found)


def _ahead(condition: Expression) -> int:
    """How many rows after the row a test of neighbours reads."""
    return max(0, *(read.place.shift for read in reads_of(condition) if isinstance(read, Value)), 0)


def _reading_back(condition: Expression) -> Expression:
    """The conjuncts that read no later row."""
    parts = tuple(part for part in conjuncts(condition) if _ahead(part) <= 0)
    return combine(Operator.AND, parts) if parts else TRUE


def _near(condition: Expression, columns: list[Expression]) -> Near | None:
    if condition == TRUE:
        return None
    names: dict[Expression, str] = {}
    found = []
    for number, read in enumerate(reads_of(condition)):
        assert isinstance(read, Value)
        if read.argument not in columns:
            columns.append(read.argument)
        names[read] = f"__near_{number}"
        found.append((names[read], columns.index(read.argument), read.place.shift))

    def change(node: Expression) -> Expression | None:
        return Column(names[node], type=node.type) if node in names else None

    return Near(replaced(condition, change), tuple(found))


def _instructions(program: Program) -> tuple[Integers, int]:
    slots = 0
    rows = []
    for each, is_join in zip(program.instructions, program.joins(), strict=True):
        rows.append((int(each.code), each.first, each.second, slots if is_join else -1))
        slots += is_join
    return _array(rows, r.I_SIZE), slots


def _first_mask(program: Program) -> int:
    """The labels that the first row of a match can have; 0 where a match may have no row, and every row is tried."""
    mask = 0
    for each in program.reached({Code.LABEL, Code.MATCH}):
        if each.code is Code.MATCH:
            return 0
        if each.code is Code.LABEL:
            mask |= 1 << each.first
    return mask


def _array(rows: Sequence[tuple[int, ...]], width: int) -> Integers:
    return np.array(rows, np.int64).reshape(len(rows), width)
