"""MATCH_RECOGNIZE on streams, end to end on Spark: restarts, late rows, queries, and what a stream refuses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from cepheid import InputError, RowPattern, StateError, sql
from cepheid.cli import main
from cepheid.spark.sinks import files

FALLS = """
    PARTITION BY symbol ORDER BY ts
    MEASURES MATCH_NUMBER() AS number, FIRST(price) AS high, LAST(DOWN.price) AS low, COUNT(*) AS n
    PATTERN (STRT DOWN+) DEFINE DOWN AS price < PREV(price)
"""
DDL = "symbol string, ts timestamp, price long"


class Ticker:
    """A directory of files that a query reads one at a time, and one checkpoint."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        self.spark, self.place, self.count = spark, place, 0
        (place / "in").mkdir()

    def put(self, *rows: tuple[str, int, int]) -> None:
        """A file of rows: symbol, second and price."""
        self.count += 1
        file = self.place / "in" / f"{self.count:03}.json"
        file.write_text(
            "\n".join(
                f'{{"symbol": "{symbol}", "ts": "2025-01-01T12:00:{second:02}", "price": {price}}}'
                for symbol, second, price in rows
            )
        )
        os.utime(file, (1_700_000_000 + self.count, 1_700_000_000 + self.count))

    def stream(self) -> DataFrame:
        reader = self.spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1)
        return reader.json(str(self.place / "in"))

    def run(self, clause: str = FALLS, flush: bool = False, buckets: int = 2, **more: Any) -> list[tuple[Any, ...]]:
        """All that has come out so far, of what is there and what was there before."""
        found = RowPattern.parse(clause).match(self.stream(), watermark="0 seconds", buckets=buckets)
        out, late = files(str(self.place / "out")), files(str(self.place / "late"))
        query = found.start(  # type: ignore[union-attr]
            matches=out,
            late=late,
            checkpoint=str(self.place / "checkpoint"),
            trigger="available now",
            flush=flush,
            **more,
        )
        query.awaitTermination()
        return sorted(map(tuple, out.read(self.spark).collect()))


@pytest.fixture
def ticker(spark: SparkSession, tmp_path: Path) -> Iterator[Ticker]:
    yield Ticker(spark, tmp_path)
    for query in spark.streams.active:
        query.stop()


@pytest.mark.slow
def test_buckets_are_changed(ticker: Ticker) -> None:
    """By the command line, which knows the clause from the checkpoint, and by the program."""
    place = str(ticker.place / "checkpoint")
    ticker.put(*((symbol, 1, 9) for symbol in "ABCDEFG"), *((symbol, 2, 7) for symbol in "ABCDEFG"))
    assert ticker.run(buckets=3) == []
    assert main(["migrate", place, "--buckets", "2"]) == 0
    ticker.put(("A", 3, 5), ("B", 3, 8), ("C", 3, 8), ("D", 3, 8))
    falls = [(symbol, 1, 9, 7, 2) for symbol in "BCD"]
    assert ticker.run(buckets=2) == falls
    RowPattern.parse(FALLS).match(ticker.stream()).migrate(place, buckets=5)  # type: ignore[union-attr]
    ticker.put(*((symbol, 4, 9) for symbol in "ABCDEFG"))
    falls += [("A", 1, 9, 5, 3), *((symbol, 1, 9, 7, 2) for symbol in "EFG")]
    assert ticker.run(buckets=5) == sorted(falls)


def test_another_clause_is_refused_on_restart(ticker: Ticker) -> None:
    ticker.put(("A", 1, 9))
    ticker.run()
    with pytest.raises(StateError, match="the pattern: was"):
        ticker.run(FALLS.replace("<", ">"))
    with pytest.raises(StateError, match="what measures read"):
        ticker.run(FALLS.replace("COUNT(*) AS n", "SUM(price) AS n"))
    assert ticker.run(FALLS.replace("AS low", "AS bottom")) == []


def test_a_query_over_a_stream_and_a_table(ticker: Ticker, spark: SparkSession) -> None:
    from cepheid.spark.stream.query import PROVIDER, ROCKSDB

    ticker.put(("A", 1, 9), ("A", 2, 7), ("A", 30, 8), ("B", 31, 8))
    ticker.put(("A", 59, 9))
    names = spark.createDataFrame([("A", "Acme")], "symbol string, name string")
    query = f"SELECT name, low FROM trades MATCH_RECOGNIZE ({FALLS}) AS m JOIN names USING (symbol) WHERE low > 1"
    before = spark.conf.get(PROVIDER)
    spark.conf.set(PROVIDER, ROCKSDB)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    try:
        result = sql(query, spark, trades=ticker.stream(), names=names)
        assert result.isStreaming
        running = result.writeStream.format("memory").queryName("falls_of_names").trigger(availableNow=True)
        running.start().awaitTermination()
    finally:
        spark.conf.set(PROVIDER, before)
    assert list(map(tuple, spark.table("falls_of_names").collect())) == [("Acme", 7)]


def test_what_a_stream_cannot_decide_is_refused(ticker: Ticker) -> None:
    stream = ticker.stream()

    def match(clause: str) -> Any:
        return RowPattern.parse(clause).match(stream)

    last = match("PARTITION BY symbol ORDER BY ts PATTERN (A+ $) DEFINE A AS price > 1")
    with pytest.raises(InputError, match="has no last row"):
        last.start(matches="memory", checkpoint=str(ticker.place / "checkpoint"))
    with pytest.raises(InputError, match="has no last row"):
        _ = last.matches
    assert not match("PARTITION BY symbol ORDER BY ts PATTERN (A $ | A B) DEFINE A AS price > 1").plan.needs_the_end
    with pytest.raises(InputError, match="no ORDER BY"):
        match("MEASURES COUNT(*) AS n PATTERN (A)")
    with pytest.raises(InputError, match="from its end"):
        match("ORDER BY ts DESC MEASURES COUNT(*) AS n PATTERN (A)")
    with pytest.raises(InputError, match="no time"):
        match("ORDER BY price MEASURES COUNT(*) AS n PATTERN (A)")
    with pytest.warns(UserWarning, match="X has no condition"):
        match("ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A X* B) DEFINE A AS price > 1, B AS price > 2")
    with pytest.raises(InputError, match="for streams"):
        rows = ticker.spark.createDataFrame([], DDL)
        RowPattern.parse("PARTITION BY symbol PATTERN (A)").match(rows, watermark="1 second")


def test_a_history_a_restart_and_the_end(ticker: Ticker) -> None:
    """As if the stream had begun with its history: a fall of the past goes on, and each row counts once."""
    past = [("x", 1, 9), ("x", 2, 7), ("y", 3, 4), ("y", 4, 3), ("y", 5, 5), ("x", 6, 6)]
    rows = [(symbol, f"2025-01-01 12:00:{second:02}", price) for symbol, second, price in past]
    history = ticker.spark.createDataFrame(rows, "symbol string, ts string, price long")
    ticker.put(("x", 6, 6), ("x", 7, 5), ("y", 8, 2))  # the first of them is in the history, too
    brought: dict[str, Any] = {"history": history.selectExpr("symbol", "CAST(ts AS TIMESTAMP) AS ts", "price")}
    assert ticker.run(**brought) == [("y", 1, 4, 3, 2)]
    ticker.put(("x", 9, 8), ("y", 10, 1), ("y", 7, 1))  # the last one is late
    assert ticker.run(**brought) == [("x", 1, 9, 5, 4), ("y", 1, 4, 3, 2)]
    assert ticker.run(flush=True) == [("x", 1, 9, 5, 4), ("y", 1, 4, 3, 2), ("y", 2, 5, 1, 3)]
    late = files(str(ticker.place / "late")).read(ticker.spark).collect()
    assert [(row.symbol, row.price) for row in late] == [("y", 1)]
    with pytest.raises(InputError, match="seam='2025-01-01' says where a history ends, and there is none"):
        ticker.run(seam="2025-01-01")
