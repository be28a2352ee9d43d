"""A scan whose rows come in steps finds what one of all rows finds, and tries no instruction more than that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from rowpattern.clauses import clauses, tables

from cepheid.conditions import Schema
from cepheid.engine.open_scan import OpenScan, can_go_on
from cepheid.engine.row_values import RowValues
from cepheid.engine.tables.representation import NotCompiled
from cepheid.engine.tables.row_patterns import RowTables, tabulate
from cepheid.errors import CepheidError, LimitError
from cepheid.match_recognize import read
from cepheid.rowpattern.binding import bind

BEGIN = np.array([0, 1, 0, 0])
SECOND = 1_000_000


def tabulated(clause: str, table: pa.Table) -> RowTables:
    return tabulate(bind(read(clause), Schema.from_arrow(table.schema)), max_steps=20_000)


def timed(table: pa.Table) -> pa.Table:
    """The rows with a time each, a second apart."""
    return table.append_column("ts", pa.array(SECOND * np.arange(1, table.num_rows + 1), pa.timestamp("us", "UTC")))


def scanned(tables: RowTables, table: pa.Table, cuts: list[int]) -> tuple[list[Any], OpenScan]:
    """The matches of rows that come in steps: first row, number, labels; then the rows that are in none."""
    scan, found, unmatched = OpenScan(tables, BEGIN), [], set()
    for end in [*cuts, None]:
        before = scan.count - scan.context
        rows = table.slice(before, (table.num_rows if end is None else end) - before)
        values = RowValues(rows, np.array([0, rows.num_rows]))
        own = np.stack([values.holds(condition) for condition in tables.own], axis=1)
        some = scan.go_on(values, own, None if end is None else SECOND * end, str)
        for (first, length, number, _), offset in zip(some.matches.tolist(), some.offsets.tolist(), strict=True):
            found.append((first, number, some.labels[offset : offset + length].tolist()))
        unmatched |= set(np.flatnonzero(some.unmatched).tolist())
    return [*found, unmatched], scan


@settings(
    max_examples=max(100, settings().max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(clauses(), tables(), st.data())
def test_any_cut_into_steps_is_one_scan(clause: str, table: pa.Table, data: st.DataObject) -> None:
    clause = clause.replace("ORDER BY t", "ORDER BY ts")
    if data.draw(st.booleans(), "within"):
        clause = clause.replace(" SUBSET", " WITHIN INTERVAL '4' SECOND SUBSET")
    table = timed(table)
    try:
        tables = tabulated(clause, table)
    except NotCompiled:
        assume(False)
    assume(can_go_on(tables))
    cuts = sorted(data.draw(st.sets(st.integers(1, table.num_rows)), "cuts"))
    try:
        expected, at_once = scanned(tables, table, [])
    except LimitError:
        assume(False)
    except CepheidError as error:
        with pytest.raises(type(error)):
            scanned(tables, table, cuts)
        return
    found, in_steps = scanned(tables, table, cuts)
    assert found == expected
    # A step tries an instruction again; and one row, whose neighbour had not come yet, may turn out to begin no match.
    assert in_steps.steps <= at_once.steps + (len(cuts) + 1) * (len(tables.instructions) + 1)


CONDITIONS = {
    "by row": "A AS v >= 0, B AS v < 0",
    "by start": "A AS v >= FIRST(v), B AS v < 0",
    "by state": "A AS v >= 0 AND COUNT(A.v) > 0, B AS v < 0 AND SUM(A.v) > 9",
    "forget": "A AS COALESCE(LAST(CLASSIFIER(), 1), 'A') = 'A', B AS v < 0",
}


@pytest.mark.parametrize("defines", CONDITIONS.values(), ids=CONDITIONS)
def test_many_steps_cost_what_one_costs(defines: str) -> None:
    count = 6_000
    table = timed(pa.table({"v": [1] * (count - 1) + [-1]}))
    tables = tabulated(f"ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A+ B) DEFINE {defines}", table)
    expected, at_once = scanned(tables, table, [count])
    found, in_steps = scanned(tables, table, list(range(10, count + 1, 10)))
    assert found == expected
    assert in_steps.steps <= at_once.steps + 600
    assert at_once.steps < 40 * count


def test_what_reads_strings_of_other_rows_begins_anew() -> None:
    table = timed(pa.table({"v": [1], "s": ["x"]}))
    clause = "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A+ B) DEFINE "
    assert not can_go_on(tabulated(clause + "B AS B.s = FIRST(A.s)", table))
    assert can_go_on(tabulated(clause + "B AS B.s = PREV(B.s)", table))
    assert can_go_on(tabulated(clause + "B AS B.v = FIRST(A.v) AND PREV(CLASSIFIER()) = 'A'", table))
