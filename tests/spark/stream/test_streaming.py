"""Patterns on streaming DataFrames, end to end on Spark."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid import InputError, LimitError, Pattern, StateError
from cepheid.spark import StateReader, files, table
from cepheid.spark.stream.accounts import Account, accounts
from cepheid.spark.stream.checkpoint.layout import Checkpoint

NOON = datetime(2025, 1, 1, 12)
DDL = "key string, ts timestamp, id long, name string"
A_B = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b'").within("20 seconds")


class Source:
    """A directory of files that a stream reads one at a time."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        place.mkdir()
        self.place, self.count = place, 0
        reader = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1)
        self.stream: DataFrame = reader.json(str(place))

    def put(self, *rows: tuple[str, int | str | None, int, str]) -> None:
        lines = []
        for key, second, id, name in rows:
            time = (NOON + timedelta(seconds=second)).isoformat() if isinstance(second, int) else second
            lines.append(json.dumps({"key": key, "ts": time, "id": id, "name": name}))
        self.count += 1
        hidden = self.place / f".{self.count}.json"
        hidden.write_text("\n".join(lines))
        os.utime(hidden, (1_700_000_000 + self.count, 1_700_000_000 + self.count))  # Spark reads the oldest first
        hidden.rename(self.place / f"{self.count:03}.json")


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> Iterator[Source]:
    yield Source(spark, tmp_path / "in")
    for query in spark.streams.active:
        query.stop()


def ids(rows: list[Any], *names: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name]["id"] if row[name] else None for name in names) for row in rows)


def begun(found: Any, place: Path) -> None:
    """Make a checkpoint as if a first micro-batch had been committed, without timeouts."""
    Checkpoint(found.plan.session, str(place)).prepare(found.plan.identity(timeouts=False), flush=False)
    for name in ("offsets", "commits"):
        (place / name).mkdir()
        (place / name / "0").write_text("v1")


def test_outputs_restart_and_flush(spark: SparkSession, source: Source, tmp_path: Path) -> None:
    """One life of a checkpoint: all outputs, a restart that goes on, changes that are refused, a flush at the end."""
    checkpoint, out = str(tmp_path / "checkpoint"), str(tmp_path / "out")

    def found(pattern: Pattern = A_B, **more: Any) -> Any:
        return pattern.match(source.stream, partition_by="key", order_by=["ts", "id"], watermark="5 seconds", **more)

    def start(pattern: Pattern = A_B, flush: bool = False, **more: Any) -> Any:
        return found(pattern, **more).start(
            matches=files(out),
            timeouts="memory",
            late="memory",
            rejected="memory",
            checkpoint=checkpoint,
            trigger={"availableNow": True},
            flush=flush,
        )

    source.put(("x", 1, 1, "a"), ("idle", 2, 2, "a"), ("x", None, 3, "a"), ("x", "9999-01-01T00:00:00", 4, "a"))
    source.put(("x", 4, 5, "b"), ("z", 40, 6, "a"), ("x", "1960-01-01T00:00:00", 7, "b"), ("w", 45, 11, "unwanted"))
    source.put(("x", 3, 8, "b"))
    query = start()
    query.awaitTermination()
    assert ids(files(out).read(spark).collect(), "a", "b") == [(1, 5)]
    assert ids(spark.table("timeouts").collect(), "a", "b") == [(2, None)]
    assert [row["at"] for row in spark.table("timeouts").collect()] == [NOON + timedelta(seconds=22)]
    assert [(row["id"], row["at"]) for row in spark.table("late").collect()] == [(8, None)]
    rejected = {row["id"]: row["reason"] for row in spark.table("rejected").collect()}
    assert rejected == {3: "no time", 4: "a time further ahead than max_ahead", 7: "a time before 1970"}
    assert query.lastProgress.eventTime["watermark"] == "2025-01-01T12:00:40.000Z"  # unwanted events move time, too
    counted = accounts(query)
    for one in counted:
        assert one.rows == one.irrelevant + one.late + one.rejected + one.handled + one.pending_change
    total = {name: sum(getattr(one, name) for one in counted) for name in Account.__slots__}
    assert (total["rows"], total["irrelevant"], total["late"], total["rejected"]) == (9, 1, 1, 3)
    assert (total["matches"], total["timeouts"], total["runs_change"]) == (1, 1, 1)
    assert StateReader(found(), checkpoint).totals().runs == total["runs_change"]

    other = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'c'").within("20 seconds")
    with pytest.raises(StateError, match=r"was a\[name = 'a'\] ~> b\[name = 'b'\]"):
        start(other)
    with pytest.raises(StateError, match="the buckets: was"):
        start(buckets=7)
    with pytest.raises(StateError, match="the columns that travel"):
        start(columns=["id"])
    with pytest.raises(StateError, match="whether timeouts are looked for"):
        found().start(matches=files(out), checkpoint=checkpoint)

    reader = StateReader(found(), checkpoint)
    assert StateReader.open(spark, checkpoint).runs().collect() == reader.runs().collect()
    [run] = reader.runs().collect()
    assert (run["key"], run["start_time"], run["waits_for"]) == ("z", NOON + timedelta(seconds=40), ["b"])
    assert run["until"] == NOON + timedelta(seconds=60)
    assert reader.pending().count() == 0

    renamed = Pattern.begin("p").where("name = 'a'").followed_by("b").where("name = 'b'").within("20 seconds")
    source.put(("z", 41, 9, "b"), ("y", 42, 10, "a"))
    start(renamed).awaitTermination()
    assert ids(files(out).read(spark).collect(), "a", "b") == [(1, 5)]  # 40 seconds is not behind the watermark yet
    assert sorted(row["id"] for row in StateReader(found(), checkpoint).pending().collect()) == [9, 10]
    assert sorted(row["id"] for row in StateReader.open(spark, checkpoint).pending().collect()) == [9, 10]
    query = start(flush=True)
    assert query.exception() is None
    matches = files(out).read(spark).collect()
    assert ids(matches, "a", "b") == [(1, 5), (6, 9)]
    assert ids(spark.table("timeouts").collect(), "a") == [(10,)]
    assert (StateReader(found(), checkpoint).totals().runs, StateReader(found(), checkpoint).totals().pending) == (0, 0)
    with pytest.raises(StateError, match="has been ended by flush=True"):
        start()


HOT = (
    Pattern.begin("a").where("name = 'a'").followed_by_any("b").where("name = 'b'")
    .followed_by_any("c").where("name = 'c'").within("60 seconds")
)  # fmt: skip


def test_broken_and_unmatched_go_on_after_a_restart(spark: SparkSession, source: Source, tmp_path: Path) -> None:
    checkpoint = str(tmp_path / "checkpoint")
    outputs = {name: str(tmp_path / name) for name in ("matches", "broken", "unmatched")}
    pattern = A_B.not_followed_by("c").where(F.col("name") == "c")

    def found(rows: DataFrame) -> Any:
        return pattern.match(rows, partition_by="key", order_by=["ts", "id"], watermark="0 seconds", id="1")

    def start(flush: bool = False, **more: Any) -> Any:
        sinks = {name: files(path) for name, path in outputs.items()} | more
        found(source.stream).start(
            **sinks, checkpoint=checkpoint, trigger="available now", flush=flush
        ).awaitTermination()

    source.put(
        ("x", 1, 1, "a"), ("x", 2, 2, "b"), ("y", 2, 3, "x"), ("x", 40, 4, "a"), ("x", 41, 5, "b"), ("z", 41, 6, "b")
    )
    start()
    assert [row["id"] for row in files(outputs["unmatched"]).read(spark).collect()] == [3]
    [run] = StateReader(found(source.stream), checkpoint).runs().where("key = 'x'").collect()
    assert run["waits_for"] == ["the negations at the end"]
    with pytest.raises(StateError, match="what else is looked for: was broken, unmatched"):
        start(unmatched=None)
    source.put(("x", 45, 7, "c"), ("x", 46, 8, "q"))
    start(flush=True)
    rows = spark.read.schema(DDL).json(str(source.place))
    batch = pattern.match(rows, partition_by="key", order_by=["ts", "id"])
    for name, path in outputs.items():
        told = files(path).read(spark).drop("at").collect()
        assert sorted(map(repr, told)) == sorted(map(repr, getattr(batch, name).collect())), name
    [broken] = files(outputs["broken"]).read(spark).collect()
    assert (broken["reason"], broken["event"]["id"]) == ("not violated", 7)
    with pytest.raises(InputError, match="unmatched: the pattern has no window"):
        Pattern.begin("a").match(source.stream, partition_by="key", order_by="ts").unmatched  # noqa: B018
    with pytest.raises(InputError, match="broken: a query that counts matches builds none"):
        found(source.stream).start(counts="memory", broken="memory", checkpoint=str(tmp_path / "other"))


@pytest.mark.slow
def test_a_hot_key_with_any_links_restarts_and_is_counted(spark: SparkSession, source: Source, tmp_path: Path) -> None:
    """Cohorts through a restart: the matches are those of batch, the state says what waits, and counting, which another
    query does, gives as many as listing."""

    def found(**more: Any) -> Any:
        return HOT.match(source.stream, partition_by="key", order_by=["ts", "id"], watermark="1 second", **more)

    def start(checkpoint: str, **more: Any) -> Any:
        given = {"measures": {"first": "SUM(a.id)"}} if "counts" in more else {}
        query = found(**given).start(checkpoint=str(tmp_path / checkpoint), trigger="available now", **more)
        query.awaitTermination()
        return query

    out, counts = str(tmp_path / "out"), str(tmp_path / "counts")
    source.put(*(("hot", second, second, "abd"[second % 3]) for second in range(30)), ("cold", 3, 900, "a"))
    start("listed", matches=files(out))
    reader = StateReader(found(), str(tmp_path / "listed"))
    runs = [row["taken"] for row in reader.runs().where("key = 'hot'").collect()]
    assert len(runs) == 10 + 55 and {len(taken) for taken in runs} == {1, 2}
    assert reader.totals().runs == len(runs) + 1
    source.put(("hot", 40, 40, "c"), ("hot", 62, 62, "c"), ("cold", 63, 901, "c"))
    source.put(("hot", 70, 70, "d"))
    query = start("listed", matches=files(out))
    start("counted", counts=files(counts))
    assert query.lastProgress is not None
    rows = spark.read.schema(DDL).json(str(source.place))
    batch = HOT.match(rows, partition_by="key", order_by=["ts", "id"], measures={"first": "SUM(a.id)"})
    expected = ids(HOT.match(rows, partition_by="key", order_by=["ts", "id"]).matches.collect(), "a", "b", "c")
    assert ids(files(out).read(spark).collect(), "a", "b", "c") == expected and len(expected) > 80
    shown = plain(files(counts).read(spark).drop("at"))
    assert shown == plain(batch.counts()) == plain(totals_of(batch.matches))
    assert sum(matches for _, _, matches, _ in shown) == len(expected)
    by_spark = HOT.match(
        rows, partition_by="key", order_by=["ts", "id"], measures={"first": "SUM(a.id)"}, shuffle="spark"
    )
    assert plain(by_spark.counts()) == shown
    with pytest.raises(InputError, match="either builds matches or counts them"):
        found().start(matches="memory", counts="memory", checkpoint=str(tmp_path / "both"))


def totals_of(matches: DataFrame) -> DataFrame:
    return matches.groupBy("key", "end_time").agg(F.count("*").alias("matches"), F.sum("first").alias("first"))


def plain(rows: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in rows.collect())


def named(a: str, b: str) -> Pattern:
    later = f"name = 'b' AND id > LAST({a}.id)"
    return Pattern.begin(a).where("name = 'a'").followed_by(b).where(later).within("5 minutes")


@pytest.fixture
def run(source: Source, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Lets a pattern go on with all there is: what comes out."""

    def run(pattern: Pattern, on_error: str = "stop", **more: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        def take(rows: DataFrame, batch: int) -> None:
            found.extend(row.asDict(recursive=True) for row in rows.collect())

        rows: Any = pattern.match(source.stream, partition_by="key", order_by=["ts", "id"], watermark="0 s", **more)
        place = str(tmp_path / "checkpoint")
        query = rows.start(matches=take, rejected=take, checkpoint=place, trigger="available now", on_error=on_error)
        query.awaitTermination()
        return found

    return run


@pytest.mark.slow
def test_names_and_the_form_of_rows_may_change_between_starts(
    source: Source, run: Callable[..., list[dict[str, Any]]]
) -> None:
    """In one session, whose workers live on; names may be swapped, too."""
    source.put(("x", 1, 1, "a"), ("y", 1, 2, "a"))
    assert run(named("a", "b")) == []
    source.put(("x", 2, 11, "b"), ("x", 3, 3, "a"))
    [match] = run(named("b", "a"))
    assert (match["b"]["id"], match["a"]["id"]) == (1, 11)
    source.put(("x", 4, 12, "b"), ("x", 5, 4, "a"))
    rows = run(named("low", "high"), rows="all")
    assert [(row["variable"], row["sequence"], row["id"]) for row in rows] == [("low", 1, 3), ("high", 2, 12)]


def test_after_a_limit_is_reached_the_query_goes_on_without_the_key(
    source: Source, run: Callable[..., list[dict[str, Any]]]
) -> None:
    source.put(("x", 1, 4, "a"), ("y", 2, 7, "a"), ("y", 6, 5, "a"), ("y", 7, 6, "a"), ("x", 8, 13, "b"))
    with pytest.raises(LimitError, match=r"max_runs is 1(?s:.*)same checkpoint"):
        run(named("a", "b"), max_runs=1)
    rejected = run(named("a", "b"), max_runs=1, on_error="skip_key")
    assert sorted(row["id"] for row in rejected if "reason" in row) == [5, 6, 7]
    assert [(row["a"]["id"], row["b"]["id"]) for row in rejected if "reason" not in row] == [(4, 13)]


@pytest.mark.slow
def test_measures_of_the_same_values_may_change_between_starts(
    source: Source, run: Callable[..., list[dict[str, Any]]]
) -> None:
    def measured(a: str, b: str, **measures: str) -> list[dict[str, Any]]:
        return run(named(a, b), measures={name: text.format(a=a, b=b) for name, text in measures.items()})

    source.put(("z", 9, 20, "a"))
    measured("a", "b", total="SUM({a}.id)", kind="LAST({b}.name)")
    source.put(("z", 10, 21, "b"))
    [row] = measured("b", "a", last="LAST({b}.name)", most="MAX({a}.id)")
    assert (row["last"], row["most"]) == ("b", 20)
    with pytest.raises(StateError, match="what measures read of events: was id, name"):
        measured("a", "b", total="SUM({a}.id + 1)", kind="LAST({b}.name)")


def test_time_moves_on_with_the_clock_while_the_source_is_silent(
    spark: SparkSession, source: Source, tmp_path: Path
) -> None:
    """A missing answer is noticed although no event comes at all; what comes too late after that is late."""
    unanswered = Pattern.begin("a").where("name = 'a'").not_followed_by("b").where("name = 'b'").within("2 seconds")
    found = unanswered.match(source.stream, partition_by="key", order_by=["ts", "id"], watermark="1 second")
    query = found.start(matches="memory", late="memory", checkpoint=str(tmp_path / "c"), idle="1 second")
    now = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
    source.put(("x", now.isoformat(), 1, "a"))
    wait_for(lambda: spark.table("matches").count())
    [match] = spark.table("matches").collect()
    assert (match["a"]["id"], match["at"]) == (1, now + timedelta(seconds=2))
    lines = list((tmp_path / "c" / "cepheid" / "control").glob("*.txt"))
    source.put(("x", (now + timedelta(seconds=1)).isoformat(), 2, "b"))
    wait_for(lambda: spark.table("late").count())
    assert [row["id"] for row in spark.table("late").collect()] == [2]
    counted = accounts(query)
    assert sum(one.rows for one in counted) == 2 and sum(one.handled for one in counted) == 1
    time.sleep(2)
    query.stop()
    assert list((tmp_path / "c" / "cepheid" / "control").glob("*.txt")) == lines  # nothing waits: time stands still
    again = found.start(matches="memory", late="memory", checkpoint=str(tmp_path / "c"), trigger="available now")
    again.awaitTermination()  # lines that move time are no flush


def wait_for(is_so: Callable[[], Any], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, "nothing came"
        time.sleep(0.2)


def test_a_second_query_on_a_checkpoint_is_refused(spark: SparkSession, source: Source, tmp_path: Path) -> None:
    def start() -> Any:
        found = A_B.match(source.stream, partition_by="key", order_by="ts")
        return found.start(matches="memory", checkpoint=str(tmp_path / "c"), name="first", trigger="1 hour")

    query = start()
    with pytest.raises(StateError, match=r"a query 'first' runs on the checkpoint .* already"):
        start()
    assert query.isActive
    query.stop()
    start().stop()


def test_a_further_stateful_operator_can_follow(spark: SparkSession, source: Source, tmp_path: Path) -> None:
    """A windowed count of the matches of two patterns, by the moments at which they were decided; the stream brings its
    own watermark."""
    from cepheid.spark.stream.found import FoundInStream
    from cepheid.spark.stream.query import PROVIDER, ROCKSDB

    stream = source.stream.withWatermark("ts", "5 seconds")
    found = A_B.match(stream, partition_by="key", order_by=["ts", "id"], measures={"first": "FIRST(a.id)"})
    single = Pattern.begin("c").where("name = 'c'").within("20 seconds")
    singles = single.match(stream, partition_by="key", order_by=["ts", "id"], measures={"first": "FIRST(c.id)"})
    assert isinstance(found, FoundInStream)
    with pytest.raises(InputError, match="cannot hold a pattern's state"):
        _ = found.matches
    before = spark.conf.get(PROVIDER)
    spark.conf.set(PROVIDER, ROCKSDB)
    try:
        both = found.matches.unionByName(singles.matches)
        counts = both.groupBy(F.window("at", "1 minute")).agg(F.count("*").alias("n"), F.max("first"))
        source.put(("x", 1, 1, "a"), ("x", 2, 2, "b"), ("y", 3, 3, "a"), ("y", 59, 4, "c"), ("y", 20, 5, "b"))
        source.put(("x", 70, 6, "a"), ("x", 75, 7, "b"))
        source.put(("x", 200, 8, "a"))
        query = (
            counts.writeStream.format("memory")
            .queryName("counts")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    finally:
        spark.conf.set(PROVIDER, before)
    rows = {row["window"]["start"]: row["n"] for row in spark.table("counts").collect()}
    assert rows == {NOON: 3, NOON + timedelta(minutes=1): 1}
    counted = [progress.observedMetrics for progress in query.recentProgress]
    names = {name for names in counted for name in names}
    assert {name.rsplit(".", 1)[0] for name in names} == {"cepheid.matches", "cepheid.read.matches"}
    found_by = [row["matches"] for rows in counted for name, row in rows.items() if name.startswith("cepheid.matches")]
    assert sum(found_by) == 4


def test_what_is_refused(spark: SparkSession, source: Source, tmp_path: Path) -> None:
    def match(pattern: Pattern = A_B, stream: DataFrame = source.stream, **more: Any) -> Any:
        return pattern.match(stream, **{"partition_by": "key", "order_by": ["ts", "id"], **more})

    with pytest.raises(InputError, match="has type bigint; on a stream"):
        match(Pattern.begin("a").within(5), order_by="id")
    marked = source.stream.withWatermark("ts", "1 second")
    with pytest.raises(InputError, match="has a watermark on 'ts' already"):
        match(stream=marked, watermark="2 seconds")
    with pytest.raises(InputError, match="has a watermark on 'ts', but order_by is 'other'"):
        match(stream=marked.withColumn("other", F.expr("ts + INTERVAL 1 SECOND")), order_by="other")
    by_column = Pattern.begin("a").where(F.col("name") == "a").within("1 minute")
    with pytest.raises(InputError, match="Give the pattern an id"):
        match(by_column)
    match(by_column, id="v1")
    with pytest.raises(InputError, match="no sink is given"):
        match().start(checkpoint=str(tmp_path / "c"))
    with pytest.raises(InputError, match="matches='nowhere' is not a sink"):
        match().start(matches="nowhere", checkpoint=str(tmp_path / "c"))
    with pytest.raises(InputError, match="has nothing to wait for"):
        match().start(
            matches="console", checkpoint=str(tmp_path / "c"), flush=True, trigger={"processingTime": "1 second"}
        )
    spark.createDataFrame([("m",)], "match_id string").write.saveAsTable("plain")
    with pytest.raises(InputError, match="cannot be merged into"):
        match().start(matches=table("plain"), checkpoint=str(tmp_path / "c"))
    for name in ("__bucket", "__Mask_0", "__reason"):
        with pytest.raises(InputError, match=f"column {name!r}, a name that Cepheid uses itself"):
            match(stream=source.stream.withColumn(name, F.lit(1)))
    with pytest.raises(InputError, match="on_error='ignore' is neither"):
        match().start(matches="console", checkpoint=str(tmp_path / "c"), on_error="ignore")
    for more in ({"flush": True}, {"trigger": "available now"}):
        with pytest.raises(InputError, match="waits for events, and this query ends"):
            match().start(matches="console", checkpoint=str(tmp_path / "c"), idle="1 second", **more)
    with pytest.raises(InputError, match="moves the watermark, but the stream brings one of its own"):
        match(stream=marked).start(matches="console", checkpoint=str(tmp_path / "c"), idle="1 second")
    with pytest.raises(InputError, match="idle = 'soon' is not a length of time"):
        match().start(matches="console", checkpoint=str(tmp_path / "c"), idle="soon")
    with pytest.raises(InputError, match="is not understood by Spark"):
        match().start(matches="console", checkpoint=str(tmp_path / "c"), trigger={"processingTime": "soon"})
    with pytest.raises(InputError, match="takes events in the order in which they come"):
        match(time="arrival")
    with pytest.warns(UserWarning, match="the pattern has no window"):
        match(Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b'"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        match()


@pytest.mark.parametrize("time", ["event", pytest.param("arrival", marks=pytest.mark.slow)])
def test_micro_batches_share_generated_code(spark: SparkSession, source: Source, tmp_path: Path, time: str) -> None:
    """Spark generates code for each plan, and compiles it unless it has compiled the same before."""
    compiler = spark._jvm.org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator  # type: ignore[union-attr]
    compiled: list[int] = []
    for second in range(6):
        source.put(("x", second, 2 * second, "a"), ("x", second, 2 * second + 1, "b"))
    ordered: dict[str, Any] = {"order_by": ["ts", "id"], "watermark": "0 seconds"} if time == "event" else {}
    found: Any = A_B.match(source.stream, partition_by="key", time=time, **ordered)
    found.start(
        matches=lambda rows, batch: compiled.append(compiler.compileTime()),
        checkpoint=str(tmp_path / "checkpoint"),
        trigger="available now",
    ).awaitTermination()
    assert len(compiled) >= 5
    assert len(set(compiled[2:-1])) == 1  # the last may be one without data, whose plan is another
