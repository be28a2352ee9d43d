"""Rules that come, go and change on a stream: each finds what it would find alone on the events of its lifetime."""

from __future__ import annotations

import pickle
import random
import threading
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark.rules.rules_stream import RulesStream

from cepheid import Pattern, PatternSet, RowPattern
from cepheid.rule import read, written
from cepheid.rules.directory import Directory
from cepheid.spark.rules.query import RulesQuery
from cepheid.spark.rules.registry import Registry
from cepheid.spark.stream.state import store as streaming_store

NOON = datetime(2025, 1, 1, 12)
NOON_MS = int((NOON - datetime(1970, 1, 1)) / timedelta(milliseconds=1))
SCHEMA = pa.schema(
    [("key", pa.string()), ("ts", pa.timestamp("us")), ("id", pa.int64()), ("name", pa.string()), ("price", pa.int64())]
)
TEXTS = (
    "a[name = 'a'] ~> b[name = 'b'] within 8 seconds",
    "a[name = 'a'] ~> b[name = 'b' AND price > a.price] within 8 seconds",
    "a[name = 'a'] ~> b[name = 'b']+ ~> c[name = 'c'] within 9 seconds, skip past last event",
    "a[name = 'a'] ~> !b[name = 'b'] within 5 seconds",
    "a[price > 5] -> b[price < 5] within 5 seconds",
    "a[price > 7] ~> b[price > 3] ~> c[price < 2] within 6 seconds, skip to next",
    "any -> other[name = 'd'] within 3 seconds",
    "a[name = 'c'] ~> b[name = 'c' AND price = a.price] within 9 seconds",
    "a[name = 'b']{2} ~> !c[name = 'd'] ~> e[name = 'a'] within 7 seconds, skip past last event",
    "a[name = 'd'] ~> b[price > 1 AND price <= 4] within 8 seconds, once per 3 seconds",
)
ROWS = (
    "PARTITION BY key PATTERN (A B+ C) DEFINE A AS name = 'a', B AS name = 'b', C AS name = 'c'",
    """PARTITION BY key ORDER BY ts, id PATTERN (A B* C) WITHIN INTERVAL '6' SECOND
       DEFINE A AS price > 5, B AS price > A.price""",
    "PARTITION BY key AFTER MATCH SKIP TO NEXT ROW PATTERN (X DOWN+) DEFINE DOWN AS price < PREV(price)",
    "PARTITION BY key PATTERN (A B) DEFINE A AS NEXT(name) = 'd', B AS SUM(price) > 9",
    "PARTITION BY key PATTERN (A*) DEFINE A AS price > 8",
    "PARTITION BY key PATTERN (^ A{2} | B C) DEFINE B AS price > 3 AND MATCH_NUMBER() < 4, C AS name <> 'a'",
)
"""Rules that are row patterns: they see every event of their key, and keep those of an open match."""


def a_rule(text: str) -> Any:
    """A pattern's tree, or a row pattern."""
    return RowPattern.parse(text).model if text in ROWS else Pattern.parse(text).tree


def events_of(chance: random.Random, batch: int, first: int) -> list[dict[str, Any]]:
    return [
        {
            "key": chance.choice("pqr"),
            "ts": NOON + timedelta(seconds=2 * batch, milliseconds=chance.randrange(2_500)),
            "id": first + number,
            "name": chance.choice("abcd"),
            "price": chance.randrange(10),
        }
        for number in range(chance.randrange(25))
    ]


@pytest.mark.parametrize("seed", range(12))
def test_rules_that_come_and_go_find_what_they_find_alone(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(streaming_store, "SMALL_JOURNAL", chance.choice([1, 5_000, 1 << 20]))
    monkeypatch.setattr(streaming_store, "PIECE", chance.choice([500, streaming_store.PIECE]))
    stream = RulesStream(SCHEMA, "key", ["ts", "id"])
    rules: dict[str, str] = {}
    lifetimes: list[tuple[str, str, list[dict[str, Any]]]] = []
    alive: dict[str, list[dict[str, Any]]] = {}
    watermark, first = 0, 0
    for batch in range(14):
        if batch == 0 or chance.random() < 0.45:
            rules = _changed(chance, rules)
            for name in [name for name in alive if name not in rules]:
                del alive[name]
            stream.start({name: a_rule(text) for name, text in rules.items()})
            for name in (*stream.changes.new, *stream.changes.changed):
                alive[name] = []
                lifetimes.append((name, rules[name], alive[name]))
        rows = events_of(chance, batch, first)
        first += len(rows)
        table = pa.Table.from_pylist(rows, SCHEMA)
        stream.batch(table, watermark, forget=chance.random() < 0.3)
        for name in alive:
            alive[name] += rows
        watermark = NOON_MS + 2_000 * batch - 600
        if chance.random() < 0.2:
            stream.batch(table.slice(0, 0), watermark)
    stream.end()
    assert stream.found["late"] == []
    _compare(stream, lifetimes, alive)


def _changed(chance: random.Random, rules: dict[str, str]) -> dict[str, str]:
    """Another set: some rules go, some change, some come."""
    kept = {name: text for name, text in rules.items() if chance.random() < 0.8}
    unused = [
        text for text in (*TEXTS, *ROWS) if text not in rules.values()
    ]  # else it would be a rule with another name
    chance.shuffle(unused)
    for name in list(kept):
        if chance.random() < 0.2 and unused:
            kept[name] = unused.pop()
    while unused and (len(kept) < 2 or chance.random() < 0.5):
        kept.setdefault(f"rule {chance.randrange(8)}", unused.pop())
    return kept


def _compare(stream: RulesStream, lifetimes: list[Any], alive: dict[str, Any]) -> None:
    """Instances that lived to the end give all that they find alone; those that were ended earlier give no more."""
    found: Counter[Any] = Counter((row["rule"], row["match_id"]) for row in stream.found["matches"])
    assert max(found.values(), default=0) >= 1
    expected: Counter[Any] = Counter()
    possible: Counter[Any] = Counter()
    for name, text, events in lifetimes:
        if not events:
            continue
        alone = PatternSet({"alone": text}, partition_by="key").match_events(
            pa.Table.from_pylist(events, SCHEMA), order_by=["ts", "id"]
        )
        ids = Counter((name, match["match_id"]) for match in alone.matches)
        possible += ids
        if alive.get(name) is events:
            expected += ids
    assert expected - found == Counter()
    assert found - possible == Counter()


def test_a_rule_that_comes_back_begins_anew() -> None:
    stream = RulesStream(SCHEMA, "key", ["ts", "id"])
    first, second = (Pattern.parse(text).tree for text in TEXTS[:2])
    rows = [{"key": "p", "ts": NOON, "id": 1, "name": "a", "price": 1}]
    later = [{"key": "p", "ts": NOON + timedelta(seconds=3), "id": 2, "name": "b", "price": 2}]
    stream.start({"one": first, "two": second})
    stream.batch(pa.Table.from_pylist(rows, SCHEMA), 0)
    stream.start({"two": second})
    assert stream.changes.removed == ("one",)
    stream.start({"one": first, "two": second})
    assert (stream.changes.new, stream.changes.kept) == (("one",), ("two",))
    stream.batch(pa.Table.from_pylist(later, SCHEMA), 0)
    stream.end()
    assert [row["rule"] for row in stream.found["matches"]] == ["two"]


def test_a_row_pattern_goes_on_after_a_restart_and_says_when_it_decided() -> None:
    stream = RulesStream(SCHEMA, "key", ["ts", "id"])
    falls, within, other = a_rule(ROWS[2]), a_rule(ROWS[1]), a_rule(ROWS[0])
    rows = [{"key": "p", "ts": NOON + timedelta(seconds=n), "id": n, "name": "x", "price": 5 - n} for n in range(3)]
    rows += [{"key": "q", "ts": NOON + timedelta(seconds=n), "id": n, "name": "x", "price": 6 + n} for n in range(2)]
    stream.start({"falls": falls, "within": within})
    stream.batch(pa.Table.from_pylist(rows, SCHEMA), 0)
    stream.batch(pa.Table.from_pylist([], SCHEMA), NOON_MS + 3_000)
    assert stream.found["matches"] == []  # the next row of p may fall, too, and that of q may rise
    streaming_store._MEMORY.clear()
    stream.start({"falling": falls, "other": other, "within": within})
    assert (stream.changes.kept, stream.changes.new) == (("within", "falling"), ("other",))
    rises = [{"key": "p", "ts": NOON + timedelta(seconds=4), "id": 4, "name": "x", "price": 9}]
    stream.batch(pa.Table.from_pylist(rises, SCHEMA), NOON_MS + 3_000, forget=True)
    stream.batch(pa.Table.from_pylist([], SCHEMA), NOON_MS + 4_500)
    found = [(row["rule"], [one["event"]["id"] for one in row["events"]], row["at"]) for row in stream.found["matches"]]
    decided = NOON + timedelta(seconds=4, milliseconds=500)
    assert found == [("falling", [0, 1, 2], decided), ("falling", [1, 2], decided)]
    stream.batch(pa.Table.from_pylist([], SCHEMA), NOON_MS + 7_000)  # WITHIN is over: no row can be added any more
    last = stream.found["matches"][-1]
    assert (last["rule"], last["key"], [one["variable"] for one in last["events"]]) == ("within", "q", ["A", "C"])
    assert last["at"] == NOON + timedelta(seconds=7)


def test_a_key_whose_rules_are_all_gone_gets_no_rows() -> None:
    stream = RulesStream(SCHEMA, "key", ["ts", "id"])
    rows = pa.Table.from_pylist([{"key": "p", "ts": NOON, "id": 1, "name": "a", "price": 1}], SCHEMA)
    stream.start({"one": Pattern.parse(TEXTS[0]).tree})
    assert list(stream.pack(stream._prepared(rows).to_batches()))
    stream.start({})
    assert not list(stream.pack(stream._prepared(rows).to_batches()))


def test_a_directory_that_is_away_for_a_moment_changes_nothing(tmp_path: Path) -> None:
    query = object.__new__(RulesQuery)  # what follows rules, without a query of Spark's
    query._seen, query._stopped, query.rejected, query._write = None, threading.Event(), (), None
    assert not query._look(Directory(tmp_path / "gone"))
    [(place, reason)] = query.rejected
    assert "gone" in place and "there is no directory" in reason


def test_the_registry_keeps_numbers_and_names_what_happened() -> None:
    registry, changes = Registry.empty([("key",)]).with_rules({"a": "1", "b": "2"}, ["x", "y"])
    assert (changes.new, registry.generation, registry.conditions) == (("a", "b"), 1, {"x": 0, "y": 1})
    same, nothing = registry.with_rules({"a": "1", "b": "2"}, ["x", "y"])
    assert not nothing and same == registry
    renamed, changes = registry.with_rules({"a": "1", "c": "2"}, ["x", "y"])
    assert changes.kept == ("a", "c") and renamed.running[1].instance == registry.running[1].instance
    third, changes = registry.with_rules({"a": "3", "d": "4"}, ["z", "y"])
    assert (changes.changed, changes.new, changes.removed) == (("a",), ("d",), ("b",))
    assert third.conditions == {"y": 1, "z": 0}
    assert str(changes) == "0 go on, 1 new (d), 1 changed (a), 1 removed (b)"
    assert Registry.from_json(third.to_json()) == third


def test_the_registry_keeps_rules_as_they_were_last_seen() -> None:
    pattern = Pattern.parse("x[p > :low] ~> y within 5 minutes").bind(low=7)
    rule = PatternSet().add("a", pattern, partition_by="k", measures={"n": "MAX(x.p)"}, tags=["t"])["a"]
    assert read(written(rule)) == rule
    registry, _ = Registry.empty([("k",)]).with_rules({"a": "1"}, [], {"a": written(rule)})
    assert Registry.last([Registry.empty([]).to_json(), registry.to_json()]) == registry
    assert registry.rules() == [rule]
    callable_rule = PatternSet({"b": Pattern.begin("x").where(lambda event, taken: True)})["b"]
    assert written(callable_rule) == ""


def test_the_work_of_a_thousand_rules_would_be_small_enough_for_spark() -> None:
    stream = RulesStream(SCHEMA, "key", ["ts", "id"])
    texts = {
        f"rule {n}": f"a[name = 'a' AND price > {n}] ~> b[name = 'b' AND price > a.price] within {n + 1} minutes"
        for n in range(100)
    }
    stream.start({name: Pattern.parse(text).tree for name, text in texts.items()})
    work = stream.tester.processor.work
    packed = pickle.dumps(stream.tester.processor)
    assert len(packed) < 60_000  # Spark's limit is a megabyte
    again = pickle.loads(packed).work
    assert again.start == work.start and len(again.groups[0].instances) == 100
    assert pickle.loads(packed).work is again  # a worker reads it once
