"""Buckets whose number changes in the midst of a stream, without a JVM: what comes out is what comes out of one."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("pyspark.sql.streaming.tws_tester", reason="Spark's tester of stateful operators came with 4.2")

from spark.rules.rules_stream import RulesStream
from spark.rules.test_operator import ROWS, TEXTS, a_rule
from spark.stream.operator_stream import rows_kept
from spark.stream.row_stream import RowStream
from spark.stream.test_operator import BEGIN, SCHEMA, stream_of

from cepheid import Pattern, StateError
from cepheid.spark.cells import rows_of
from cepheid.spark.pack_workers import PAYLOAD
from cepheid.spark.row_workers import MATCH_NUMBER
from cepheid.spark.stream.moving import Divide, Layout
from cepheid.spark.stream.state.moved import cells_of, parts_of, put_together
from cepheid.spark.stream.state.pending import first_words, key_hashes
from cepheid.spark.stream.time import REASON

SECOND = 1_000_000
LAG = 3 * SECOND
FIRST = int(BEGIN.timestamp()) * SECOND
"""The first moment; the tests have UTC."""


def batches(seed: int) -> list[list[dict[str, Any]]]:
    chance = random.Random(seed)
    return [
        [
            {
                "key": f"k{chance.randrange(9)}",
                "ts": BEGIN + timedelta(seconds=2 * batch, milliseconds=500 * chance.randrange(9)),
                "id": 100 * batch + number,
                "name": chance.choice("abcd"),
                "price": chance.randrange(10),
            }
            for number in range(chance.randrange(12))
        ]
        for batch in range(14)
    ]


def moved(work: Any, buckets: list[Any], count: int) -> list[Any]:
    """The same keys in another number of buckets."""
    before, after = (Layout(tuple(range(number)), (True,)) for number in (len(buckets), count))
    parts = before.parts(after, range(len(buckets)))
    divide = Divide(work, after, parts, "a change")
    saved = [bucket.to_bytes() for bucket in buckets]
    return [
        put_together(work, [divide._part(saved[number], target, number) for number in parts[target]], "a bucket")
        for target in range(count)
    ]


def played(
    work: Any,
    prepared: Callable[[pa.Table], pa.Table],
    given: list[list[dict[str, Any]]],
    chance: random.Random | None,
    shown: Callable[[pa.Table], pa.Table] = lambda found: found,
    ahead: bool = True,
) -> list[str]:
    """All that comes out of micro-batches: a bucket is called if it has rows or something is due, as Spark does, and
    one that has rows may be `ahead` of the others. With `chance` the buckets change in between."""
    buckets = [work.new_bucket() for _ in range(3)]
    found: list[str] = []

    def take(decided: Any) -> None:
        for kind in ("matches", "timeouts", "broken", "unmatched"):
            table = getattr(decided, kind)
            found.extend(f"{kind} {row}" for row in ([] if table is None else shown(table).to_pylist()))

    latest = watermark = FIRST
    for rows in given:
        table = prepared(pa.Table.from_pylist(rows, schema=SCHEMA)) if rows else None
        is_later = np.zeros(0, bool)
        if table is not None:
            time = table["__time"].to_numpy()
            is_later = time > watermark
            table = table.filter(pa.array(is_later)).combine_chunks()
            time = time[is_later]
        for number, bucket in enumerate(buckets):
            moment = watermark
            if is_later.any():
                own = np.mod(first_words(key_hashes(table)), len(buckets)) == number
                if own.any():
                    bucket.receive(table.filter(pa.array(own)).combine_chunks())
                    moment = max(watermark, int(time[own].max()) - LAG) if ahead else watermark
                    take(bucket.advance(moment))
                    continue
            deadline = bucket.deadline()
            if deadline is not None and deadline <= watermark:
                take(bucket.advance(moment))
        if is_later.any():
            latest = max(latest, int(time.max()))
            watermark = max(watermark, latest - LAG)
        if chance is not None and chance.random() < 0.5:
            buckets = moved(work, buckets, chance.choice((1, 2, 3, 4, 6)))
            for bucket in buckets:  # the micro-batch that brings the parts calls all of them
                take(bucket.advance(watermark))
    for bucket in buckets:
        take(bucket.advance(watermark, is_end=True))
    return sorted(found)


@pytest.mark.parametrize(
    ("text", "timeouts", "leftovers"),
    [
        ("a[name = 'a'] ~> b[name = 'b' AND price >= a.price] within 8 seconds", True, False),
        ("a[name = 'a'] ~>> b[name = 'b']+ ~>> c[price > 6] within 7 seconds", False, False),
        ("a[price > 5] ~> !b[name = a.name] within 5 seconds", False, False),
        ("a[name = 'a'] ~> b[name = 'b'] within 6 seconds", True, True),
        ("a[name > 'a'] ~> b[name > a.name] within 5 events, skip past last event", False, True),
    ],
)
def test_patterns(text: str, timeouts: bool, leftovers: bool) -> None:
    """Kept singly or as cohorts, with timers, strings, broken runs and unmatched rows."""
    stream = stream_of(Pattern.parse(text).tree, timeouts, buckets=1, leftovers=leftovers)
    for seed in range(3):
        given = batches(seed)
        whole = played(stream.work, stream._prepared, given, None)
        assert whole and played(stream.work, stream._prepared, given, random.Random(seed)) == whole


@pytest.mark.parametrize("clause", [clause for clause in ROWS if "ORDER BY" in clause] + [
    "PARTITION BY key ORDER BY ts, id MEASURES MATCH_NUMBER() AS number, LAST(DOWN.id) AS low "
    "AFTER MATCH SKIP TO NEXT ROW PATTERN (X DOWN+) DEFINE DOWN AS price < PREV(price)",
    "PARTITION BY key ORDER BY ts, id MEASURES COUNT(*) AS n, FIRST(id) AS first "
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (^ A B* C) DEFINE A AS price > 3, C AS name = 'c'",
])  # fmt: skip
def test_row_patterns(clause: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where rows of a key are kept apart."""
    monkeypatch.setattr("cepheid.spark.stream.state.row_bucket.LONG", 3)
    stream = RowStream(clause, SCHEMA)
    for seed in range(3):
        given = batches(seed)
        whole = played(stream.work, stream._prepared, given, None, stream._shown)
        assert whole and played(stream.work, stream._prepared, given, random.Random(seed), stream._shown) == whole


def test_a_set_of_rules() -> None:
    stream = RulesStream(SCHEMA, "key", ["ts", "id"], timeouts=True)
    stream.start({f"r{number}": a_rule(text) for number, text in enumerate((*TEXTS, *ROWS))})

    def prepared(rows: pa.Table) -> pa.Table:
        cells = [
            cell
            for batch in stream.pack(stream._prepared(rows).combine_chunks().to_batches())
            for cell in batch.column(PAYLOAD).to_pylist()
        ]
        table = pa.concat_tables([rows_of(pa.py_buffer(cell)) for cell in cells], promote_options="default")
        return table.drop_columns([REASON])

    def shown(found: pa.Table) -> pa.Table:
        return found.drop_columns([MATCH_NUMBER])  # which no measure asks for: a key that is forgotten counts anew

    work = stream.tester.processor.work
    for seed in range(2):
        given = batches(seed)
        whole = played(work, prepared, given, None, shown, ahead=False)
        assert whole and played(work, prepared, given, random.Random(seed), shown, ahead=False) == whole


def test_a_history_that_was_not_read_holds_the_buckets_where_they_are() -> None:
    stream = RulesStream(SCHEMA, "key", ["ts", "id"])
    rules = {"old": a_rule(TEXTS[0])}
    stream.start(rules)
    rows = [row for batch in batches(1) for row in batch]
    stream.batch(pa.Table.from_pylist(rows[:20], schema=SCHEMA), 0)
    stream.start(rules | {"new": a_rule(TEXTS[1]), "row pattern": a_rule(ROWS[0])}, with_history=True)

    def divided() -> list[Any]:
        divide = Divide(stream.tester.processor.work, Layout((0,), (True,)), {0: (0, 1), 1: ()}, "a change")
        return list(divide(pa.Table.from_pylist(rows_kept(stream.tester)).to_batches()))

    with pytest.raises(StateError, match="no micro-batch has read it"):
        divided()
    stream.bring(pa.Table.from_pylist(rows[:20], schema=SCHEMA), pa.Table.from_pylist(rows[20:], schema=SCHEMA))
    assert len(divided()) == 3  # the parts of two, and one that is empty


def test_the_parts_of_all_buckets_of_all_keys() -> None:
    """Two keys and rules without a key, each with three buckets, then with two; bucket 8 has no state."""
    before = Layout(tuple(range(9)), (True, True, False))
    after = Layout((0, 1, 2, 3, 4, 5), (True, True, False))
    parts = before.parts(after, range(8))
    assert parts == {0: (0, 1, 2), 1: (0, 1, 2), 2: (3, 4, 5), 3: (3, 4, 5), 4: (6,), 5: (7,), 6: (), 7: ()}
    wider = Layout(tuple(range(12)), (True, True, False))
    assert before.parts(wider, [0, 4])[3] == (0,) and before.parts(wider, [0, 4])[4] == (4,)
    four, six = Layout((0, 1, 2, 3), (True,)), Layout((0, 1, 2, 3, 4, 5), (True,))
    assert four.parts(six, range(4)) == {0: (0, 2), 1: (1, 3), 2: (0, 2), 3: (1, 3), 4: (0, 2), 5: (1, 3)}
    assert four.parts(Layout(tuple(range(8)), (True,)), range(4))[6] == (2,)


def test_cells_of_parts_are_put_together_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cepheid.spark.stream.state.moved.PIECE", 4)
    cells = [*cells_of(b"one and a half", 3, 2), *cells_of(b"two", 7, 2)]
    assert len(cells) == 5
    assert parts_of(cells[::-1], "what was moved") == [b"one and a half", b"two"]
    for missing in (cells[1:], cells[:-1]):
        with pytest.raises(StateError, match="a piece of what was moved is missing"):
            parts_of(missing, "what was moved")
