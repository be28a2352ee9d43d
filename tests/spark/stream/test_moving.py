"""More or fewer buckets for a stream that was stopped: it goes on as if nothing had happened."""

from __future__ import annotations

import base64
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from spark.stream.operator_stream import OperatorStream, rows_kept
from spark.stream.test_operator import event, milliseconds, saved_buckets, stream_of, table
from spark.stream.test_streaming import A_B, NOON, Source, source

from cepheid import InputError, Pattern, StateError
from cepheid.cli import main
from cepheid.spark.stream.accounts import accounts
from cepheid.spark.stream.checkpoint.identity import Identity
from cepheid.spark.stream.checkpoint.layout import Checkpoint
from cepheid.spark.stream.moving import Divide, Layout
from cepheid.spark.stream.state import store as streaming_store
from cepheid.spark.stream.state.pending import first_words
from cepheid.spark.stream.state.reader import StateReader
from cepheid.spark.stream.state.saved import saved_buckets as checkpointed
from cepheid.spark.stream.state.totals import totals

__all__ = ["source"]  # a fixture

KEYS: dict[str, Any] = {"partition_by": "key", "order_by": ["ts", "id"], "watermark": "5 seconds"}
Row = tuple[str, int, int, str]


def made(parts: int, events: int) -> list[list[Row]]:
    """Files of events, none of which is late."""
    chance = random.Random(7)
    return [
        [
            (f"k{chance.randrange(12)}", 10 * part + chance.randrange(14), 1000 * part + number, chance.choice("aab"))
            for number in range(events)
        ]
        for part in range(parts)
    ]


def run(source: Source, place: Path, found: dict[str, list[Any]], **more: Any) -> Any:
    """Let the query work through all there is, and add to what is found."""

    def into(kind: str) -> Any:
        def write(rows: DataFrame, batch: int) -> None:
            found.setdefault(kind, []).extend(row.asDict(recursive=True) for row in rows.collect())

        return write

    sinks = {kind: into(kind) for kind in ("matches", "timeouts", "unmatched")}
    stream = A_B.match(source.stream, **KEYS, **more)
    query = stream.start(checkpoint=str(place), trigger="available now", **sinks)
    query.awaitTermination()
    return query


def pairs(matches: list[Any]) -> list[tuple[int, int]]:
    return sorted((match["a"]["id"], match["b"]["id"]) for match in matches)


@pytest.mark.slow
def test_a_stream_goes_on_with_more_and_with_fewer_buckets(spark: SparkSession, source: Source, tmp_path: Path) -> None:
    """Stop, migrate, start, and migrate again: all outputs are those of events that were never interrupted."""
    place, found = tmp_path / "checkpoint", {}  # type: ignore[var-annotated]
    first, second, third = made(3, 80)
    source.put(*first)
    run(source, place, found, buckets=2)
    before = totals(spark, str(place))
    assert before.runs and before.pending
    assert main(["migrate", str(place), "--buckets", "6"]) == 0
    assert len(Checkpoint(spark, str(place)).identity().buckets) == 6
    assert totals(spark, str(place)) == before  # nothing has been read yet
    with pytest.raises(StateError, match="were changed before, and no micro-batch has run since"):
        A_B.match(source.stream, **KEYS).migrate(str(place), buckets=4)
    source.put(*second)
    told = accounts(run(source, place, found))
    assert sum(one.rows for one in told) == len(second)
    assert all(one.rows == one.irrelevant + one.late + one.rejected + one.handled + one.pending_change for one in told)
    held = totals(spark, str(place))
    assert held.runs == before.runs + sum(one.runs_change for one in told)
    stream = A_B.match(source.stream, **KEYS)
    listed = StateReader(stream, str(place))
    assert (listed.runs().count(), listed.pending().count()) == (held.runs, held.pending)
    stream.migrate(str(place), buckets=4)  # some are divided and joined
    source.put(*third, ("z", 500, 9999, "a"))  # after which everything else is decided
    told = accounts(run(source, place, found, buckets=4))
    assert all(one.rows == one.irrelevant + one.late + one.rejected + one.handled + one.pending_change for one in told)
    rows = [
        {"key": key, "ts": NOON + timedelta(seconds=second), "id": id, "name": name}
        for key, second, id, name in (*first, *second, *third)
    ]
    whole = A_B.match_events(rows, partition_by="key", order_by=["ts", "id"])
    assert pairs(found["matches"]) == pairs(whole.matches)
    taken = {id for pair in pairs(whole.matches) for id in pair}
    assert sorted(row["id"] for row in found["unmatched"]) == sorted({row["id"] for row in rows} - taken)
    assert sorted(row["a"]["id"] for row in found["timeouts"]) == sorted(row["a"]["id"] for row in whole.timeouts)


@pytest.mark.slow
def test_a_change_that_is_interrupted_is_finished_or_refused(
    spark: SparkSession, source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, found = tmp_path / "checkpoint", {}  # type: ignore[var-annotated]
    source.put(("x", 0, 1, "a"), ("y", 1, 2, "a"), ("z", 20, 3, "a"))
    run(source, place, found, buckets=2)
    stream = A_B.match(source.stream, **KEYS)
    for step in ("move", "keep_identity", "moved"):
        with monkeypatch.context() as patched:
            patched.setattr(Checkpoint, step, _interrupted)
            with pytest.raises(KeyboardInterrupt):
                stream.migrate(str(place), buckets=4)
        with pytest.raises(StateError, match=r"begun and not finished(?s:.*)--buckets 4"):
            run(source, place, found)
    with pytest.raises(StateError, match="to 4 buckets was begun"):
        stream.migrate(str(place), buckets=8)
    stream.migrate(str(place), buckets=4)
    lines = spark.read.text(f"{place}/cepheid/control").where("value LIKE 'moved %'").collect()
    assert len({line[0].split()[1] for line in lines}) == 1  # once, however often it was begun
    source.put(("x", 16, 4, "b"), ("y", 17, 5, "b"), ("z", 21, 6, "b"), ("z", 60, 7, "q"))
    run(source, place, found)
    assert pairs(found["matches"]) == [(1, 4), (2, 5), (3, 6)]


def _interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


def _failed(*_: Any) -> None:
    raise OSError("the disk is full")


def test_what_is_refused(
    spark: SparkSession,
    source: Source,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = tmp_path / "checkpoint"
    source.put(("x", 0, 1, "a"))
    stream = A_B.match(source.stream, **KEYS)
    with pytest.raises(StateError, match="not a checkpoint of a pattern"):
        stream.migrate(str(place), buckets=4)
    run(source, place, {}, buckets=4)
    for buckets in (0, -4):
        with pytest.raises(InputError, match=rf"buckets={buckets} is not a number of buckets"):
            stream.migrate(str(place), buckets=buckets)
    stream.migrate(str(place), buckets=4)  # which it has
    assert not spark.read.text(f"{place}/cepheid/control").count()
    with pytest.raises(StateError, match="partition_by: was key"):
        A_B.match(source.stream, order_by="ts").migrate(str(place), buckets=8)
    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "move", _failed)
        with pytest.raises(OSError, match="the disk is full"):
            stream.migrate(str(place), buckets=8)
    assert Checkpoint(spark, str(place)).moving() is None  # so that the query may go on as it was
    (place / "offsets" / "99").write_text((place / "offsets" / "0").read_text())
    with pytest.raises(StateError, match=r"begun and not finished \(99"):
        stream.migrate(str(place), buckets=8)
    assert main(["migrate", str(place), "--buckets", "0"]) == 2
    assert "--buckets 0 is not a number" in capsys.readouterr().err
    alone = tmp_path / "one bucket"
    without = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b'").within("1 minute")
    stream = without.match(source.stream, order_by="ts")
    Checkpoint(spark, str(alone)).prepare(stream.plan.identity(timeouts=False), False)
    with pytest.raises(InputError, match="nothing to divide"):
        stream.migrate(str(alone), buckets=2)


@pytest.mark.parametrize("singly", [True, False])
def test_parts_of_a_bucket_are_the_bucket(singly: bool) -> None:
    """Whatever a bucket holds, kept singly or together, its parts hold the same, each key in the part of its hash."""
    pattern = Pattern.begin("a").where("name = 'a'").followed_by_any("b").where("name = 'b'").within("10 seconds")
    chance = random.Random(3)
    events = [
        event(1 + number % 9, number, chance.choice("aab"), key=f"k{chance.randrange(20)}") for number in range(200)
    ]
    later = [event(9 + number % 4, 200 + number, "b", key=f"k{number % 20}") for number in range(40)]

    def answered(buckets: list[Any]) -> list[str]:
        found = []
        for bucket in buckets:
            for second in (10, 30):
                decided = bucket.advance(1000 * milliseconds(second))
                tables = [table for table in (decided.matches, decided.timeouts) if table is not None]
                found += [repr(row) for table in tables for row in table.to_pylist()]
        return sorted(found)

    stream = stream_of(pattern.tree, timeouts=singly, buckets=1)
    assert stream.tables.compact.is_compact is not singly
    bucket = stream.work.new_bucket()
    bucket.receive(stream._prepared(table(events)).combine_chunks())
    bucket.advance(1000 * milliseconds(6))
    bucket.receive(stream._prepared(table(later)).combine_chunks())
    whole = bucket.to_bytes()
    divide = Divide(stream.work, Layout((0, 7, 9), (True,)), {}, "name")
    parts = [stream.work.saved_bucket(divide._part(whole, target, 0), "a part") for target in (0, 7, 9)]
    for place, part in enumerate(parts):
        assert set(np.mod(first_words(part.keys), 3).tolist()) == {place}
    assert sum(part.live_runs for part in parts) == bucket.live_runs
    assert sum(part.pending_events for part in parts) == bucket.pending_events
    expected = answered([stream.work.saved_bucket(whole, "all")])
    assert expected and answered(parts) == expected


@pytest.mark.parametrize(("old", "new", "workers"), [(2, 6, 0), (2, 6, 1), (3, 2, 0), (4, 1, 2)])
def test_an_operator_takes_over_parts_and_goes_on(old: int, new: int, workers: int) -> None:
    """The same without a JVM: the state moves to more or fewer buckets, in the midst of a stream."""
    pattern = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b'").within("10 seconds")
    first, second, third = (
        table([event(second, id, name, key=key) for key, second, id, name in part]) for part in made(3, 60)
    )

    def stream(buckets: int) -> OperatorStream:
        owner = Identity("p", "p", True, tuple(range(buckets)), ("key",), ("ts", "id"), {}, {}, (), "event")
        return stream_of(pattern.tree, buckets=buckets, workers=workers, identity=owner.to_json())

    whole = stream(old)
    for rows, second_of in ((first, 0), (second, 8), (third, 18)):
        whole.batch(rows, milliseconds(second_of))
    before, after = stream(old), stream(new)
    before.batch(first, milliseconds(0))
    before.batch(second, milliseconds(8))
    saved = rows_kept(before.tester)
    layout = Layout(tuple(range(new)), (True,))
    known = {row["bucket"] for row in saved}
    parts = Layout(tuple(range(old)), (True,)).parts(layout, known)
    divide = Divide(before.work, layout, parts, "change")
    lines = [line for batch in divide(pa.Table.from_pylist(saved).to_batches()) for line in batch[0].to_pylist()]
    after.go_on_from(before)  # the buckets hold what they held
    streaming_store._MEMORY.clear()
    cells: dict[int, list[bytes]] = {}
    for line in lines:
        _, _, bucket, cell = line.split()
        cells.setdefault(int(bucket), []).append(base64.b64decode(cell))
    assert set(cells) == known | set(range(new))
    for number, own in cells.items():
        after.feed(number, own)
    assert sum(row["runs_change"] for row in (*before.counts, *after.counts)) == sum(
        bucket.live_runs for bucket in saved_buckets(after)
    )
    after.batch(third, milliseconds(18))
    for one in (whole, after):
        one.end()
    for kind in ("matches", "timeouts"):
        found = [*before.found[kind], *after.found[kind]]
        assert whole.found[kind] and sorted(map(repr, found)) == sorted(map(repr, whole.found[kind]))
    assert not after.found["late"]


def test_rows_of_saved_state_come_in_any_order() -> None:
    rows = [
        {"bucket": 3, "step": step, "piece": piece, "value": bytearray(f"{step} {piece}".encode())}
        for step, piece in ((2, 1), (0, 0), (2, 0), (1, 0), (-1, 0))
    ]
    values = checkpointed(rows)[3]
    assert values.getValue((0, 0)) == (b"0 0",)
    assert values.getValue((2, 1)) == (b"2 1",)
    assert values.getValue((-1, 1)) is None
