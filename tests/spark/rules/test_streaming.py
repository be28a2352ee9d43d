"""A set of rules on a real stream: added, changed and removed while it runs, and across restarts."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from cepheid import PatternSet
from cepheid.cli import main
from cepheid.errors import CepheidError, InputError
from cepheid.rules import directory
from cepheid.spark.rules.choosing import GOES_ON
from cepheid.spark.rules.found import RulesInStream
from cepheid.spark.rules.query import RulesQuery
from cepheid.spark.stream.checkpoint.layout import Checkpoint

NOON = datetime(2025, 1, 1, 12)
DDL = "key string, shop string, ts timestamp, id long, name string, price long"
PAIR = "a[name = 'a'] ~> b[name = 'b'] within 60 seconds"
FALL = "PARTITION BY key MEASURES X.price - LAST(D.price) AS depth PATTERN (X D+) DEFINE D AS price < PREV(price)"
RISE = "low[price < 3] ~> high[price > 6] within 60 seconds"


class Feed:
    """Files of events, one a micro-batch, and what was found in them."""

    def __init__(self, place: Path) -> None:
        self.place = place
        (place / "in").mkdir()
        self.batches: list[list[dict[str, Any]]] = []
        self.found: dict[int, list[Any]] = {}

    def write(self, *events: tuple[str, str, int]) -> None:
        """Events as (key, name, price), each a second after the one before."""
        first = sum(map(len, self.batches))
        rows = [
            {
                "key": key,
                "shop": "s",
                "ts": NOON + timedelta(seconds=first + n),
                "id": first + n,
                "name": name,
                "price": p,
            }
            for n, (key, name, p) in enumerate(events)
        ]
        self.batches.append(rows)
        text = "\n".join(json.dumps({**row, "ts": row["ts"].isoformat()}) for row in rows)
        file = self.place / f"{len(self.batches):04}.json"
        file.write_text(text)
        os.utime(file, (1_700_000_000 + len(self.batches),) * 2)  # Spark reads the oldest file first
        file.rename(self.place / "in" / file.name)

    def take(self, rows: DataFrame, batch: int) -> None:
        self.found[batch] = rows.collect()

    def matches(self) -> Counter[tuple[str, str]]:
        return Counter((row["rule"], row["match_id"]) for rows in self.found.values() for row in rows)

    def alone(self, name: str, text: str, first: int, last: int | None = None) -> Counter[tuple[str, str]]:
        """What a rule finds by itself in the events of some micro-batches."""
        events = [event for batch in self.batches[first:last] for event in batch]
        found = PatternSet({name: text}, partition_by="key").match_events(events, order_by=["ts", "id"])
        return Counter((name, match["match_id"]) for match in found.matches)


def stream_of(spark: SparkSession, place: Path) -> DataFrame:
    return spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).json(str(place / "in"))


def rule_file(place: Path, name: str, text: str) -> None:
    (place / f"{name}.toml").write_text(f'pattern = "{text}"\npartition_by = "key"\nseverity = "high"\n')


@pytest.fixture
def feed(tmp_path: Path) -> Feed:
    return Feed(tmp_path)


def test_a_directory_is_followed(spark: SparkSession, feed: Feed, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    rule_file(rules, "pair", PAIR)
    (rules / "fall.toml").write_text(f'pattern = "{FALL}"\n')  # a row pattern is a rule like others
    feed.write(("p", "a", 1), ("q", "a", 5))
    found = PatternSet.from_directory(rules).match_stream(
        stream_of(spark, tmp_path), order_by=["ts", "id"], watermark="0 seconds", buckets=2
    )
    rejected: list[Any] = []

    def start() -> RulesQuery:
        return found.start(
            matches=feed.take,
            checkpoint=str(tmp_path / "checkpoint"),
            rules=directory(rules),
            rejected_rules=lambda rows, batch: rejected.extend(rows.collect()),
        )

    query = start()
    try:
        query.processAllAvailable()
        rule_file(rules, "rise", RISE)
        (rules / "broken.toml").write_text('pattern = "a[price >"')
        (rules / "unknown.toml").write_text('pattern = "a[prize > 1]"\npartition_by = "key"\n')
        _taken_up(query, lambda: len(query.changes) == 2)
        assert query.changes[-1].new == ("rise",) and set(query.changes[-1].kept) == {"fall", "pair"}
        assert sorted(Path(row["file"]).name for row in rejected) == ["broken.toml", "unknown.toml"]
        assert sorted(Path(place).name for place, _ in query.rejected) == ["broken.toml", "unknown.toml"]
        feed.write(("p", "b", 8), ("q", "c", 2), ("q", "b", 9))
        query.processAllAvailable()
        query.stop()  # as a crash would: the next start finds the same directory
        query = start()
        feed.write(("q", "a", 1), ("p", "a", 1), ("q", "b", 7))
        query.processAllAvailable()
        right = (rules / "rise.toml").read_text()
        (rules / "rise.toml").write_text('pattern = "low[price >')  # for a moment: the rule goes on as it was
        _taken_up(query, lambda: len(query.rejected) == 3)
        assert [GOES_ON in reason for _, reason in sorted(query.rejected)] == [False, True, False]
        assert set(query.changes[-1].kept) == {"fall", "pair", "rise"} and not query.changes[-1]
        rule_file(rules, "pair", PAIR.replace("60 seconds", "90 seconds"))
        (rules / "rise.toml").write_text(right)
        (rules / "broken.toml").unlink()
        _taken_up(query, lambda: bool(query.changes[-1].changed))
        assert query.changes[-1].changed == ("pair",)
        feed.write(("p", "b", 1), ("p", "a", 9), ("p", "b", 9))
        query.processAllAvailable()
        counts = query.lastProgress.observedMetrics["cepheid.rules"].asDict()
        assert counts == {"running": 3, "kept": 2, "new": 0, "changed": 1, "removed": 0, "rejected": 1}
        query.stop()
        (rules / "unknown.toml").unlink()
        last = PatternSet.from_directory(rules).match_stream(
            stream_of(spark, tmp_path), order_by=["ts", "id"], watermark="0 seconds", buckets=2
        )
        last.start(matches=feed.take, checkpoint=str(tmp_path / "checkpoint"), flush=True)
    finally:
        query.stop()
    changed = PAIR.replace("60 seconds", "90 seconds")
    decided_before = feed.alone("pair", PAIR, 0, 3)
    fall = feed.alone("fall", FALL, 0)
    assert feed.matches() == fall + feed.alone("rise", RISE, 1) + decided_before + feed.alone("pair", changed, 3)
    depths = [row["measures"]["depth"] for rows in feed.found.values() for row in rows if row["rule"] == "fall"]
    assert sorted(depths) == ["3", "7", "8"]


def _taken_up(query: RulesQuery, is_done: Callable[[], bool]) -> None:
    """Let the query look for a change, unless its own thread has seen it already."""
    query.look()
    assert is_done()


@pytest.mark.slow
@pytest.mark.parametrize("twice", [False, True])
def test_buckets_are_changed(spark: SparkSession, feed: Feed, tmp_path: Path, twice: bool) -> None:
    """To fewer and to more for each of three keys, patterns and row patterns alike; the rules are those that run."""
    place = str(tmp_path / "checkpoint")
    rules = PatternSet({"pair": PAIR, "fall": FALL}, partition_by="key")
    rules = rules.add("rise", RISE, partition_by="shop").add("any", PAIR, partition_by=[])

    def found(rules: PatternSet) -> RulesInStream:
        return rules.match_stream(stream_of(spark, tmp_path), order_by=["ts", "id"], watermark="3 seconds", buckets=3)

    def run(rules: PatternSet, flush: bool = False) -> RulesQuery:
        query = found(rules).start(matches=feed.take, checkpoint=place, trigger="available now", flush=flush)
        query.awaitTermination()
        return query

    feed.write(*((key, "a", price) for price, key in enumerate("pqrstuvw", 1)))
    run(rules)
    assert main(["migrate", place, "--buckets", "2"]) == 0
    assert len(Checkpoint(spark, place).identity().buckets) == 2 * 3
    feed.write(*((key, "b", 1) for key in "pqrs"), *((key, "c", 7) for key in "tu"))
    if twice:
        assert not run(rules).changes[-1]
        found(PatternSet({"another": RISE}, partition_by="key")).migrate(place, buckets=4)
    feed.write(*((key, "b", 0) for key in "tuvw"))
    query = run(rules, flush=True)
    assert str(query.changes[-1]) == "4 go on"
    events = [event for batch in feed.batches for event in batch]
    whole = rules.match_events(events, order_by=["ts", "id"])
    assert feed.matches() == Counter((match["rule"], match["match_id"]) for match in whole.matches)
    assert {rule for rule, _ in feed.matches()} == {"pair", "fall", "rise", "any"}


@pytest.mark.slow
def test_a_restart_with_another_set_goes_on(spark: SparkSession, feed: Feed, tmp_path: Path) -> None:
    stream = stream_of(spark, tmp_path)

    def run(rules: PatternSet, flush: bool = False) -> RulesQuery:
        found = rules.match_stream(stream, order_by=["ts", "id"], watermark="0 seconds", buckets=2, columns=["id"])
        query = found.start(
            matches=feed.take, checkpoint=str(tmp_path / "checkpoint"), trigger="available now", flush=flush
        )
        query.awaitTermination()
        return query

    pair = PatternSet({"pair": PAIR}, partition_by="key")
    feed.write(("p", "a", 1), ("q", "a", 5))
    run(pair)
    feed.write(("p", "b", 8), ("q", "c", 2), ("r", "a", 1))
    query = run(pair.add("rise", RISE, partition_by="key", tags=["t"], measures={"top": "MAX(high.price)"}))
    assert str(query.changes[-1]) == "1 go on, 1 new (rise)"
    feed.write(("q", "b", 9), ("r", "b", 2), ("r", "x", 9))
    with pytest.raises(CepheidError, match="rule 'new key' has the key shop, but the checkpoint has the keys: key"):
        run(pair.add("new key", PAIR, partition_by="shop"))
    last = PatternSet().add("rise", RISE, partition_by="key", severity="low", measures={"most": "MAX(high.price)"})
    query = run(last, flush=True)
    assert str(query.changes[-1]) == "1 go on, 1 removed (pair)"
    assert feed.matches() == feed.alone("rise", RISE, 1) + Counter(
        {key: 1 for key in feed.alone("pair", PAIR, 0, 2) if key[0] == "pair"}
    )
    row, _ = [row for rows in feed.found.values() for row in rows if row["key"] == "r"]
    assert (row["severity"], row["measures"], row["at"]) == ("low", {"most": "9"}, row["end_time"])


def test_wrong_arguments_are_refused(spark: SparkSession, feed: Feed, tmp_path: Path) -> None:
    rules = PatternSet({"pair": PAIR}, partition_by="key")
    with pytest.raises(InputError, match="given a stream"):
        rules.match(stream_of(spark, tmp_path), order_by="ts")
    found = rules.match_stream(stream_of(spark, tmp_path), order_by="ts")
    with pytest.raises(InputError, match="nothing to follow"):
        found.start(matches=feed.take, checkpoint=str(tmp_path / "c"), rules=directory(tmp_path), flush=True)
    with pytest.raises(InputError, match="rejected_rules="):
        found.start(matches=feed.take, checkpoint=str(tmp_path / "c"), rejected_rules="console")
    assert "1 rules" in str(found.explain())
    with pytest.raises(InputError, match=r"rule 'rows': every match of its pattern ends with \$(.|\n)*flush=True"):
        rules.add("rows", "MEASURES A.id AS id PATTERN (A $)").match_stream(stream_of(spark, tmp_path), order_by="ts")
