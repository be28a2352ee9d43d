"""Which times of a stream can be used, decided by Spark on rows of all kinds; lengths of time that cannot be read."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cepheid import InputError
from cepheid.spark.stream.query import trigger_of
from cepheid.spark.stream.time import NO_WATERMARK, REASON, REASONS, WATERMARKED, EventTime, Timing, watermark_after

TIMES = {
    "NULL": 1,
    "TIMESTAMP'-290308-12-22 00:00:00'": 2,
    "TIMESTAMP'1969-12-31 23:59:59.999999'": 2,
    "TIMESTAMP'1970-01-01 00:00:00'": 0,
    "TIMESTAMP'2025-01-01 12:00:00'": 0,
    "current_timestamp() + INTERVAL '59' MINUTE": 0,
    "current_timestamp() + INTERVAL '61' MINUTE": 3,
    "TIMESTAMP'294247-01-10 04:00:54.775807'": 3,
}


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_NTZ", "DATE"])
def test_times_that_cannot_be_used_are_told_up_to_the_ends_of_the_range(spark: SparkSession, kind: str) -> None:
    times = [f"CAST({text} AS {kind})" for text in TIMES]
    expected = list(TIMES.values())
    if kind == "DATE":
        times, expected = times[:5], [1, 2, 2, 0, 0]
        times += ["DATE'5881580-07-11'", "DATE'-5877641-06-23'"]
        expected += [3, 2]
    rows = spark.sql(f"SELECT inline(array({', '.join(f'struct({n} AS n, {t} AS t)' for n, t in enumerate(times))}))")
    marked = EventTime(rows, ("t",), Timing()).guarded(rows)
    found = marked.orderBy("n").select(REASON, F.col(WATERMARKED).isNotNull()).collect()
    assert [tuple(row) for row in found] == [(reason, reason == 0) for reason in expected]
    assert set(expected) - {0} <= set(REASONS)


def test_lengths_of_time_are_read_at_once() -> None:
    for wrong in ("soon", "10", "", "3 months", 10):
        for argument in ("watermark", "max_ahead"):
            with pytest.raises(InputError, match=f"{argument} = .* is not a length of time"):
                Timing(**{argument: wrong})
        with pytest.raises(InputError, match="trigger"):
            trigger_of(wrong)  # type: ignore[arg-type]
    assert Timing("1500 us").delay_ms == 2 and Timing(source="arrival").delay_ms == 0


def test_a_trigger_is_a_text_or_what_spark_takes() -> None:
    assert trigger_of(None) == {}
    assert trigger_of("available now") == trigger_of({"availableNow": True}) == {"availableNow": True}
    assert trigger_of("90 s") == {"processingTime": "90 seconds"}
    for wrong in ({"every": "1 second"}, {"once": True, "availableNow": True}, ["1 second"]):
        with pytest.raises(InputError, match="is not a trigger"):
            trigger_of(wrong)  # type: ignore[arg-type]


def test_what_the_watermark_will_be_is_known_unless_another_one_may_hold_it_back(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()

    def lag(rows: DataFrame, timing: Timing) -> int | None:
        return EventTime(rows, ("timestamp",), timing).lag_ms(rows)

    assert lag(stream, Timing("3 seconds")) == 3_000
    own = stream.withWatermark("timestamp", "3 seconds")
    hidden = own.select("value", (F.col("timestamp") + F.expr("INTERVAL '0' SECOND")).alias("timestamp"))
    assert lag(own, Timing()) is None
    assert lag(hidden, Timing("1 second")) is None
    assert lag(stream, Timing(source="arrival")) is None


def test_the_next_watermark_is_counted_as_spark_counts() -> None:
    assert watermark_after(5_000_999, 2_000) == 3_000_000
    assert watermark_after(1_999_999, 2_000) == NO_WATERMARK
