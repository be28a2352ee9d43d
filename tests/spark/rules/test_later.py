"""A rule that is added while the stream runs, with a history, finds what it would find if it had always been there."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from spark.rules.rules_stream import RulesStream
from spark.rules.test_operator import NOON, NOON_MS, ROWS, SCHEMA, TEXTS, a_rule, events_of
from spark.rules.test_streaming import DDL, PAIR, RISE, Feed

from cepheid import PatternSet
from cepheid.errors import CepheidError, InputError
from cepheid.rules import directory
from cepheid.spark.stream.accounts import accounts
from cepheid.spark.stream.state import store as streaming_store


def in_memory(name: str, text: str, events: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    found = PatternSet({name: text}, partition_by="key").match_events(events, order_by=["ts", "id"])
    return Counter((name, match["match_id"]) for match in found.matches)


@pytest.mark.parametrize("seed", range(12))
def test_a_rule_with_a_history_has_always_been_there(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events come out of order; the history has what the stream has read, what waits, and what is yet to come. After
    the restart that adds the rule a micro-batch may come before the history does, as if one had been interrupted."""
    chance = random.Random(seed)
    monkeypatch.setattr(streaming_store, "SMALL_JOURNAL", chance.choice([1, 5_000, 1 << 20]))
    batches, first = [], 0
    for number in range(10):
        batches.append(events_of(chance, number, first))
        first += len(batches[-1])
    texts = [*chance.sample(TEXTS, 2), chance.choice(ROWS)]
    names = [f"rule {number}" for number in range(3)]
    begin = [0, chance.randrange(1, 9), chance.randrange(1, 9)]
    stream = RulesStream(SCHEMA, "key", ["ts", "id"])
    watermark = 0
    for number, events in enumerate(batches):
        rows = pa.Table.from_pylist(events, SCHEMA)
        running = {name: a_rule(text) for name, text, at in zip(names, texts, begin, strict=True) if at <= number}
        forget = chance.random() < 0.4
        if number == 0:
            stream.start(running)
        elif number in begin:
            stream.start(running, with_history=True)
            if chance.random() < 0.5:  # an interrupted micro-batch is repeated first
                half = rows.num_rows // 2
                stream.batch(rows.slice(0, half), watermark, forget)
                rows = rows.slice(half)
            else:
                stream.batch(rows.slice(0, 0), watermark)
            known = [event for some in batches[: number + 2] for event in some]
            chance.shuffle(known)
            stream.bring(pa.Table.from_pylist(known, SCHEMA), rows, forget)
            watermark = NOON_MS + 2_000 * number - 600
            continue
        stream.batch(rows, watermark, forget)
        watermark = NOON_MS + 2_000 * number - 600
    stream.end()
    assert not stream.found["late"]
    everything = [event for events in batches for event in events]
    expected = sum((in_memory(*one, everything) for one in zip(names, texts, strict=True)), Counter[Any]())
    assert Counter((row["rule"], row["match_id"]) for row in stream.found["matches"]) == expected


def past(spark: SparkSession, feed: Feed, batches: int) -> DataFrame:
    """The events of the first files as a batch."""
    rows = [event for batch in feed.batches[:batches] for event in batch]
    return spark.createDataFrame([tuple(row.values()) for row in rows], DDL)


def run(spark: SparkSession, feed: Feed, rules: PatternSet, batch: int, **more: Any) -> Any:
    stream = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).json(str(feed.place / "in"))
    found = rules.match_stream(stream, order_by=["ts", "id"], watermark="2 seconds")
    query = found.start(
        matches=lambda rows, number: feed.take(rows, 100 * batch + number),
        checkpoint=str(feed.place / "checkpoint"),
        trigger="available now",
        **more,
    )
    query.awaitTermination()
    for one in accounts(query):
        assert one.rows == one.irrelevant + one.late + one.rejected + one.handled + one.pending_change
    return query


@pytest.mark.slow
def test_a_restart_adds_a_rule_with_its_history(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    both = PatternSet({"pair": PAIR, "rise": RISE}, partition_by="key")
    feed.write(("x", "a", 1), ("y", "a", 9), ("x", "b", 2))
    # Before the stream there was an event that begins a match.
    before = spark.createDataFrame([("y", "s", NOON - timedelta(seconds=9), -1, "a", 2)], DDL)
    run(spark, feed, both.remove("rise"), 0, history=before)
    feed.write(("y", "b", 8), ("x", "q", 7), ("z", "q", 1))
    run(spark, feed, both.remove("rise"), 1, history=before)
    feed.write(("x", "q", 0), ("z", "q", 9), ("x", "q", 8), ("x", "b", 8), ("w", "q", 5))
    # The history has more than the stream has read: the third file comes from the stream.
    calls: list[int] = []

    def history() -> DataFrame:
        calls.append(1)
        return past(spark, feed, 3).unionAll(before)

    query = run(spark, feed, both, 2, history=history)
    assert [str(one) for one in query.changes] == ["1 go on, 1 new (rise)"]
    query = run(spark, feed, both, 3, history=history)  # the same program again: nothing is read once more
    assert calls == [1] and not query.changes[0]
    feed.write(("w", "q", 5), ("w", "q", 5))
    run(spark, feed, both, 4, flush=True)
    events = [*(event for batch in feed.batches for event in batch)]
    events.insert(0, {"key": "y", "shop": "s", "ts": NOON - timedelta(seconds=9), "id": -1, "name": "a", "price": 2})
    assert feed.matches() == in_memory("pair", PAIR, events) + in_memory("rise", RISE, events)


@pytest.mark.slow
def test_a_rule_that_is_added_to_a_directory_has_its_history(spark: SparkSession, tmp_path: Path) -> None:
    feed, rules = Feed(tmp_path), tmp_path / "rules"
    rules.mkdir()
    text = 'partition_by = "key"\npattern = """{}"""\n'
    (rules / "pair.toml").write_text(text.format(PAIR))
    feed.write(("x", "a", 1), ("y", "q", 9), ("x", "b", 2))
    stream = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).json(str(feed.place / "in"))
    found = PatternSet.from_directory(rules).match_stream(stream, order_by=["ts", "id"], watermark="2 seconds")
    query = found.start(
        matches=feed.take,
        checkpoint=str(feed.place / "checkpoint"),
        trigger="1 second",
        rules=directory(rules),
        history=lambda: past(spark, feed, 1),
    )
    try:
        query.processAllAvailable()
        (rules / "rise.toml").write_text(text.format(RISE))
        for _ in range(60):
            if len(query.changes) > 1:
                break
            query.awaitTermination(1)
        feed.write(("x", "q", 7), ("z", "q", 1), *[("w", "q", 5)] * 9)
        query.processAllAvailable()
    finally:
        query.stop()
    events = [event for batch in feed.batches for event in batch]
    assert feed.matches() == in_memory("pair", PAIR, events) + in_memory("rise", RISE, events)
    assert in_memory("rise", RISE, events)  # x: 1 in the history, 7 from the stream


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(tmp_path)
    feed.write(("x", "a", 1))
    rules = PatternSet({"pair": PAIR}, partition_by="key")
    with pytest.raises(InputError, match="seam='now' says where a history ends, and there is none"):
        run(spark, feed, rules, 0, seam="now")
    with pytest.raises(InputError, match="history is of type int"):
        run(spark, feed, rules, 0, history=lambda: 7)
    with pytest.raises(CepheidError, match="history has no column 'shop'"):
        run(spark, feed, rules, 0, history=past(spark, feed, 1).drop("shop"))
