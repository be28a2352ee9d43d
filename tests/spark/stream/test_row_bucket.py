"""Row patterns on streams: however rows are cut into steps the result is that of a batch, and each match comes out as
soon as no preferred one can come any more."""

from __future__ import annotations

import math
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from rowpattern.clauses import clauses, tables
from spark.stream.row_stream import RowOperatorStream, RowStream

from cepheid import SkipError
from cepheid.engine.tables.representation import NotCompiled
from cepheid.errors import CepheidError, EvaluationError, LimitError
from cepheid.rows.row_order import ordered
from cepheid.rows.row_patterns import by_reference
from cepheid.spark.stream.poison import handle
from cepheid.spark.stream.state import row_bucket
from cepheid.spark.stream.state.row_bucket import BucketRows

SECOND = 1_000_000


def timed(table: pa.Table, gap: int = SECOND) -> pa.Table:
    """The rows with a time each, a second apart."""
    return table.append_column("ts", pa.array(gap * np.arange(1, table.num_rows + 1), pa.timestamp("us", "UTC")))


def plain(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple("nan" if isinstance(v, float) and math.isnan(v) else v for v in row.values()) for row in rows]


def by_key(rows: list[dict[str, Any]]) -> dict[Any, list[tuple[Any, ...]]]:
    found: dict[Any, list[tuple[Any, ...]]] = {}
    for row, values in zip(rows, plain(rows), strict=True):
        found.setdefault(row.get("p"), []).append(values)
    return found


def streamed(stream: RowStream, table: pa.Table, cuts: list[int], lag: int) -> list[dict[str, Any]]:
    """All that comes out of rows that come in steps; the watermark is some rows behind."""
    found, times = [], table["ts"].cast(pa.int64()).to_pylist()
    for begin, end in zip([0, *cuts], [*cuts, table.num_rows], strict=True):
        found += stream.step(table.slice(begin, end - begin), times[end - 1 - lag] if end > lag else -1)
    return found + stream.end()


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(clauses(), tables(), st.data())
def test_any_cut_into_steps_is_one_batch(clause: str, table: pa.Table, data: st.DataObject) -> None:
    table = timed(table)
    clause = clause.replace("ORDER BY t", "ORDER BY ts")
    if data.draw(st.booleans(), "within"):
        seconds = data.draw(st.integers(1, 6), "seconds")
        clause = clause.replace(" SUBSET", f" WITHIN INTERVAL '{seconds}' SECOND SUBSET")
    cuts = sorted(data.draw(st.sets(st.integers(1, table.num_rows)), "cuts"))
    try:
        stream = RowStream(clause, table.schema, data.draw(st.booleans(), "forgetful"))
    except NotCompiled:
        assume(False)
    lag = data.draw(st.integers(0, 2), "lag")
    rows = ordered(table, stream.bound.partition_by, stream.bound.order_by)
    with mock.patch.object(row_bucket, "LONG", data.draw(st.sampled_from([1, 2, 3, row_bucket.LONG]), "long")):
        expected: Any
        try:
            expected = by_key(by_reference(stream.bound, rows, max_steps=20_000).to_pylist())
        except LimitError:
            assume(False)
        except CepheidError as error:
            with pytest.raises(type(error)):
                streamed(stream, table, cuts, lag)
            return
        try:
            found = streamed(stream, table, cuts, lag)
        except LimitError:
            assume(False)
        assert by_key(found) == expected


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(clauses(), tables(), st.data())
def test_operator_and_store_give_what_a_batch_gives(clause: str, table: pa.Table, data: st.DataObject) -> None:
    table = timed(table)
    clause = clause.replace("ORDER BY t", "ORDER BY ts").replace(" SUBSET", " WITHIN INTERVAL '4' SECOND SUBSET")
    cuts = sorted(data.draw(st.sets(st.integers(1, table.num_rows)), "cuts"))
    try:
        stream = RowOperatorStream(clause, table.schema, data.draw(st.integers(0, 3), "workers"))
    except NotCompiled:
        assume(False)
    rows = ordered(table, stream.bound.partition_by, stream.bound.order_by)
    try:
        expected = by_key(by_reference(stream.bound, rows, max_steps=20_000).to_pylist())
        found = streamed(stream, table, cuts, data.draw(st.integers(0, 2), "lag"))
    except CepheidError:
        assume(False)
    assert by_key(found) == expected


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(clauses(), tables(), st.data())
def test_sorted_rows_in_any_parts_are_one_batch(clause: str, table: pa.Table, data: st.DataObject) -> None:
    table = timed(table)
    clause = clause.replace("ORDER BY t", "ORDER BY ts")
    try:
        stream = RowStream(clause, table.schema)
    except NotCompiled:
        assume(False)
    rows = ordered(table, stream.bound.partition_by, stream.bound.order_by)
    cuts = sorted(data.draw(st.sets(st.integers(1, table.num_rows)), "cuts"))
    try:
        expected = by_key(by_reference(stream.bound, rows, max_steps=20_000).to_pylist())
        assert by_key(stream.of_sorted(rows.table, cuts)) == expected
    except CepheidError:
        assume(False)


def moments(pattern: str, defines: str, labels: str, more: str = "", measures: str = "COUNT(*) AS n") -> list[Any]:
    """After which row each match comes out: (rows seen, its first row, its length); `e`: at the end."""
    clause = f"ORDER BY ts MEASURES FIRST(i) AS f, {measures} {more} PATTERN ({pattern})"
    table = timed(pa.table({"i": range(len(labels)), "x": list(labels)}))
    stream, found = RowStream(clause + (f" DEFINE {defines}" if defines else ""), table.schema), []
    for number in range(table.num_rows):
        rows = stream.step(table.slice(number, 1), SECOND * (number + 1))
        found += [(number + 1, row["f"], row["n"]) for row in rows]
    return found + [("e", row["f"], row["n"]) for row in stream.end()]


ABC = "A AS x = 'a', B AS x = 'b', C AS x = 'c'"
A = "A AS x = 'a'"
AB = f"{A}, B AS x = 'b'"


@pytest.mark.parametrize(
    ("pattern", "defines", "labels", "expected"),
    [
        ("A B+?", AB, "abbab", [(2, 0, 2), (5, 3, 2)]),  # reluctant: at once
        ("A B+", AB, "abbab", [(4, 0, 3), ("e", 3, 2)]),  # greedy: when the next row is no B
        ("A B+ C", ABC, "abbcx", [(4, 0, 4)]),
        ("A B C | A B", ABC, "abxabc", [(3, 0, 2), (6, 3, 3)]),  # the preferred way is still alive after b
        ("A B | A B C", ABC, "abc", [(2, 0, 2)]),
        ("A{2,3}", A, "aaaaxaa", [(3, 0, 3), ("e", 5, 2)]),
        ("A $", A, "aa", [("e", 1, 1)]),
        ("^ A", A, "aa", [(1, 0, 1)]),
        ("A? B", AB, "ab", [(2, 0, 2)]),
        ("PERMUTE(A, B)", AB, "xba", [(3, 1, 2)]),
        ("A", "A AS x = 'a' AND NEXT(x) = 'b'", "aab", [(3, 1, 1)]),  # NEXT waits for its row
        ("A", "A AS x = 'a' AND NEXT(x, 2) = 'b'", "aabx", [(3, 0, 1)]),
        ("A B", "A AS PREV(x) = 'c', B AS x = 'b'", "cab", [(3, 1, 2)]),
        ("A B+", "B AS x = 'b' AND NEXT(FIRST(x), 1) = 'b'", "abbx", [(4, 0, 3)]),
    ],
)
def test_a_match_comes_out_as_soon_as_it_is_decided(
    pattern: str, defines: str, labels: str, expected: list[Any]
) -> None:
    assert moments(pattern, defines, labels) == expected


def test_a_match_waits_for_the_rows_that_its_measures_read() -> None:
    assert moments("A", A, "ab", measures="COUNT(*) AS n, NEXT(x) AS after") == [(2, 0, 1)]
    assert moments("A B", AB, "ab", measures="COUNT(*) AS n, NEXT(FIRST(x)) AS after") == [(2, 0, 2)]
    assert moments("A B", AB, "abc", measures="COUNT(*) AS n, NEXT(CLASSIFIER()) AS after") == [(2, 0, 2)]
    for measure in ("NEXT(A.x)", "NEXT(FIRST(A.x))", "NEXT(C.x)", "NEXT(LAST(x, 1))", "NEXT(FIRST(x, 5), 3)"):
        assert moments("A B | C", ABC, "abx", measures=f"COUNT(*) AS n, {measure} AS after") == [(2, 0, 2)]
    assert moments("A B A B", AB, "ababx", measures="COUNT(*) AS n, NEXT(FIRST(A.x, 1), 2) AS after") == [(5, 0, 4)]


def test_skipping_and_numbers_go_on_across_steps() -> None:
    found = moments("A B", "", "xxxx", "AFTER MATCH SKIP TO NEXT ROW", "MATCH_NUMBER() AS n")
    assert found == [(2, 0, 1), (3, 1, 2), (4, 2, 3)]
    with pytest.raises(SkipError):
        moments("A B", AB, "ab", "AFTER MATCH SKIP TO FIRST A")


def test_unmatched_rows_come_out_when_no_match_can_begin_there() -> None:
    clause = (
        "ORDER BY ts MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B) DEFINE " + AB
    )
    table = timed(pa.table({"x": list("xaabx")}))
    stream = RowStream(clause, table.schema)
    found = [[row["n"] for row in stream.step(table.slice(n, 1), SECOND * (n + 1))] for n in range(5)]
    assert found == [[None], [], [None], [1, 1], [None]]


def test_time_alone_decides_what_within_leaves_open() -> None:
    clause = "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B*) WITHIN INTERVAL '3' SECOND DEFINE B AS x = 'b'"
    table = timed(pa.table({"x": list("abb")}))
    stream = RowStream(clause, table.schema)
    assert stream.step(table.slice(0, 2), 2 * SECOND) == []
    assert stream.bucket.deadline() == 4 * SECOND - 1  # a row at second 4 would be 3 seconds after the first one
    assert stream.step(None, 4 * SECOND - 2) == []
    assert stream.step(None, 4 * SECOND - 1) == [{"n": 2}]
    assert stream.bucket.deadline() is None
    assert stream.end() == []


def test_a_key_whose_conditions_fail_is_rejected_and_the_others_go_on() -> None:
    clause = "PARTITION BY p ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B) DEFINE B AS 10 / (B.v - A.v) > 1"
    table = timed(pa.table({"p": ["k", "l", "k", "l"], "v": [1, 1, 1, 3]}))
    stream = RowStream(clause, table.schema)

    def with_rows() -> BucketRows:
        bucket = stream.work.new_bucket()
        bucket.receive(stream._prepared(table))
        return bucket

    with pytest.raises(EvaluationError, match="division by zero"):
        handle(with_rows(), 9 * SECOND, False, "stop", with_rows)
    done = handle(with_rows(), 9 * SECOND, False, "skip_key", with_rows)
    assert done.decided.matches is not None and done.decided.matches["p"].to_pylist() == ["l"]
    assert done.refused is not None and done.refused["p"].to_pylist() == ["k", "k"]
    assert "division by zero" in done.refused["reason"][0].as_py()


def test_only_rows_that_can_still_matter_are_kept() -> None:
    table = timed(pa.table({"p": ["k", "l"] * 500, "x": [*"aab" * 333, "x"]}))
    clause = "PARTITION BY p ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B) DEFINE A AS x = 'a', B AS x = 'b'"
    stream = RowStream(clause, table.schema)
    stream.step(table, 1000 * SECOND)
    assert stream.bucket.rows is not None and stream.bucket.rows.num_rows <= 2
    before = RowStream(clause.replace("x = 'a'", "x = PREV(x, 3)"), table.schema)
    before.step(table, 1000 * SECOND)
    assert before.bucket.rows is not None and before.bucket.rows.num_rows <= 8


def test_keys_are_forgotten_where_nothing_depends_on_them() -> None:
    names = [f"k{n}" for n in range(5_000)]
    table = timed(pa.table({"p": names, "x": ["x"] * len(names)}))
    clause = "PARTITION BY p ORDER BY ts MEASURES {} PATTERN (A B) DEFINE A AS x = 'a'"
    for measure, expected in (("COUNT(*) AS n", 0), ("MATCH_NUMBER() AS n", 5_000)):
        stream = RowStream(clause.format(measure), table.schema, forgetful=True)
        stream.step(table, len(names) * SECOND)
        assert len(stream.bucket.keys) == expected


LONG_OPEN = "PARTITION BY p ORDER BY ts MEASURES COUNT(*) AS n, {} AS f PATTERN (A+ B) {} DEFINE A AS x >= 0, B AS {}"


def opened(more: str = "", condition: str = "x < 0", measure: str = "FIRST(x)") -> tuple[RowStream, pa.Table]:
    """A stream with a long open match of one key and a short one of another, and its rows, the last one still to
    come."""
    table = timed(pa.table({"p": [*"kl", *"k" * 8], "x": [1] * 9 + [-1]}))
    stream = RowStream(LONG_OPEN.format(measure, more, condition), table.schema)
    for row in range(9):
        assert stream.step(table.slice(row, 1), SECOND * (row + 1)) == []
    assert len(stream.bucket.open) == 1
    return stream, table.slice(9)


@pytest.fixture
def short_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are kept apart from four on."""
    monkeypatch.setattr(row_bucket, "LONG", 4)


@pytest.mark.usefixtures("short_is_long")
def test_a_long_open_match_goes_on() -> None:
    stream, last = opened()
    assert stream.bucket.open[0].scan.steps < 30
    assert stream.step(last, 10 * SECOND) == [{"p": "k", "n": 9, "f": 1}]
    assert not stream.bucket.open and stream.bucket.live_runs == 1
    stream, _ = opened()
    assert stream.end() == []  # no row comes with the end


@pytest.mark.usefixtures("short_is_long")
def test_a_long_open_match_is_saved_and_goes_on() -> None:
    stream, last = opened()
    saved = stream.bucket.to_bytes()
    assert len(stream.bucket.open) == 1  # saving changes nothing
    for bucket in (stream.bucket, BucketRows.from_bytes(stream.work, saved, "the bucket")):
        stream.bucket = bucket
        assert stream.step(last, 10 * SECOND) == [{"p": "k", "n": 9, "f": 1}]


@pytest.mark.usefixtures("short_is_long")
def test_a_long_open_match_ends_by_time() -> None:
    stream, _ = opened("WITHIN INTERVAL '60' SECOND", "TRUE")
    assert stream.bucket.deadline() == 61 * SECOND - 1
    assert stream.step(None, 61 * SECOND - 1) == [{"p": "k", "n": 8, "f": 1}]


@pytest.mark.usefixtures("short_is_long")
def test_a_long_open_match_whose_condition_fails_is_rejected() -> None:
    stream, last = opened(condition="10 / (B.x + FIRST(x)) > 1", measure="LAST(x)")

    def with_rows() -> BucketRows:
        bucket = BucketRows.from_bytes(stream.work, saved, "the bucket")
        bucket.receive(stream._prepared(last))
        return bucket

    saved = stream.bucket.to_bytes()
    stream.bucket.receive(stream._prepared(last))
    done = handle(stream.bucket, 10 * SECOND, False, "skip_key", with_rows)
    assert done.refused is not None and set(done.refused["p"].to_pylist()) == {"k"}
    assert "division by zero at the row at p = 'k'" in done.refused["reason"][0].as_py()
