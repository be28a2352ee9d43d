"""Sets of rules on Spark batch: what a set costs beside one of its rules, and beside its rules one after the other.

Events have a hundred kinds. Each rule is one of twenty shapes over three kinds, with thresholds of its own, and
concerns about one in forty events; together the rules concern most of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measuring import Settings, compare, usage
from reporting import Cell, Column, Section
from sessions import CORES, benchmark_spark, run, summary

from cepheid import Pattern, PatternSet

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pyspark.sql import DataFrame, SparkSession

EVENTS, KEYS, KINDS, PART = 10_000_000, 100_000, 100, 1_250_000
COUNTS = (1, 10, 100, 1_000)
SINGLES = 10
"""How many rules are measured one by one; what all of them cost is in proportion."""
ONE_BAR, SINGLE_BAR = 5.0, 15.0
SHAPES = (
    "a[{0}] ~> b[{1}] ~> c[{2}]",
    "a[{0}] ~> b[{1}] ~> c[{2}] within 10 minutes, skip past last event",
    "a[{0}] ~> b[{1}] within 10 minutes",
    "a[{0}] ~> !n[{1}] ~> c[{2}] within 10 minutes",
    "a[{0}]{{2,}} ~> b[{1}] within 10 minutes, skip past last event",
    "a[{0}] ~> b[{1}]{{3}} within 20 minutes, skip past last event",
    "a[{0}] ~>> b[{1}] within 1 minute",
    "a[{0}] ~> b[{1}]? ~> c[{2}] within 10 minutes, skip past last event",
    "a[{0}] ~> b[{1} AND price > a.price] within 10 minutes",
    "a[{0}] ~> b[{1} AND price > 2 * a.price] within 10 minutes, skip past last event",
    "a[{0}] ~> b[{1} AND store = a.store] within 10 minutes",
    "a[{0}] ~> b[{1}] ~> c[{2} AND price > a.price + b.price] within 10 minutes, skip past last event",
    "a[{0}] ~> b[{1}] ~> !n[{2}] within 10 minutes",
    "a[{0}]{{2,3}} ~> c[{2}] within 10 minutes, skip past last event",
    "a[{0}] ~> b[{1}] ~> c[{2}] ~> d[{0}] within 10 minutes, skip past last event",
    "a[{0} OR {1}] ~> c[{2}] within 10 minutes, skip past last event",
    "a[{0}] ~> b[{1}] ~> c[{2}] skip past last event",
    "a[{0}] ~> b[{1}]{{2,}} ~> c[{2}] within 10 minutes, skip past last event",
    "a[{0}] ~> b[{1} AND quantity > 50] ~> c[{2} AND quantity > 50] within 10 minutes",
    "a[{0}] ~> b[{1}] ~> c[{2}] within 10 minutes, once per 1 hour",
)


def made_rules(count: int) -> PatternSet:
    """So many rules: shapes in turn, kinds and thresholds of their own."""
    texts = {}
    for number in range(count):
        kinds = [(7 * number + 13 * place) % KINDS for place in range(3)]
        parts = [
            f"kind = 'kind-{kind:03}' AND price > {10 + (number + place) % 40}" for place, kind in enumerate(kinds)
        ]
        texts[f"rule {number}"] = SHAPES[number % len(SHAPES)].format(*parts)
    return PatternSet(texts, partition_by="key")


def write_events(directory: Path, events: int, keys: int, part: int = PART) -> str:
    """Parquet files with events in the order of their times, a millisecond apart; returns where they are."""
    directory.mkdir(parents=True)
    random = np.random.default_rng(events)
    names = pa.array([f"device-{number:07d}" for number in range(keys)])
    kinds = pa.array([f"kind-{number:03}" for number in range(KINDS)])
    for begin in range(0, events, part):
        count = min(part, events - begin)
        times = 1_700_000_000_000_000 + np.arange(begin, begin + count) * 1_000
        columns = {
            "key": names.take(pa.array(random.integers(0, keys, count))),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "kind": kinds.take(pa.array(random.integers(0, KINDS, count))),
            "price": random.random(count) * 100,
            "quantity": pa.array(random.integers(0, 100, count), pa.int32()),
            "store": pa.array(random.integers(0, 500, count)),
        }
        pq.write_table(pa.table(columns), directory / f"{begin:012}.parquet")
    return str(directory)


def measure(settings: Settings) -> Section:
    """One row for each size of a set."""
    events = settings.events or (20_000 if settings.smoke else EVENTS)
    keys = max(1, min(KEYS, events // 100))
    counts = (1, 10) if settings.smoke else COUNTS
    section = Section(
        "rules",
        f"rules: {events:,} events of {KINDS} kinds, {keys:,} keys, one key for all rules, Parquet",
        (
            Column("case", "rules"),
            Column("matches", "matches"),
            Column("cpu", "CPU s"),
            Column("of_java", "of that, the JVM"),
            Column("spread", "least–most"),
            Column("elapsed", "elapsed s"),
            Column("ratio", "to one rule", 2),
            Column("singles", "one after the other, CPU s"),
            Column("saved", "singles to set", 1),
            Column("reached", "reached"),
            Column("right", "same matches"),
        ),
        notes=[
            f"{CORES} cores, median of {settings.repeat} jobs after one that is not counted, in turn; noop sink.",
            f"{len(SHAPES)} shapes. One rule: the mean of {SINGLES} rules, each a job by itself (Pattern.match). One "
            "after the other: that mean times the number of rules.",
            f"bars at 100 rules: at most {ONE_BAR:g} × one rule, and at least {SINGLE_BAR:g} × less than the rules one "
            "after the other.",
            "same matches: the rules that were run by themselves give as many matches, with the same sum of hashes.",
        ],
    )
    with TemporaryDirectory() as place, benchmark_spark() as spark:
        path = write_events(Path(place) / "events", events, keys)
        one = _one(spark, path, settings)
        chosen = [count for count in counts if settings.wants(str(count))]
        jobs = {str(count): _job(spark, path, made_rules(count)) for count in chosen}
        for name, (_, used) in compare(settings.repeat, jobs).items():
            count = int(name)
            row: dict[str, Cell] = {
                "case": count,
                "cpu": used.cpu,
                "of_java": used.java,
                "spread": used.spread,
                "elapsed": used.elapsed,
                "ratio": used.cpu / one,
                "singles": one * count,
                "saved": one * count / used.cpu,
            }
            if count == 100 and not settings.smoke:
                row["reached"] = row["ratio"] <= ONE_BAR and row["saved"] >= SINGLE_BAR  # type: ignore[operator]
            row |= _compared(spark, path, count)
            section.rows.append(row)
    return section


def _one(spark: SparkSession, path: str, settings: Settings) -> float:
    """The CPU seconds of one rule by itself: the mean over some, each of another shape."""
    rules = list(made_rules(SINGLES))
    singles = 2 if settings.smoke else SINGLES
    seconds = []
    for number, rule in enumerate([rules[0], *rules[:singles]]):
        job = _job(spark, path, PatternSet([rule]), single=True)
        _, used = usage(job)
        if number:  # the first is for the JVM to get warm
            seconds.append(used.cpu)
    return sum(seconds) / len(seconds)


def _found(spark: SparkSession, path: str, rules: PatternSet, single: bool) -> DataFrame:
    events = spark.read.parquet(path)
    if single:
        [rule] = rules
        pattern = Pattern(rule.tree)
        return pattern.match_batch(events, partition_by=rule.partition_by, order_by="ts", columns="ts").matches
    return rules.match(events, order_by="ts", columns="ts").matches


def _job(spark: SparkSession, path: str, rules: PatternSet, single: bool = False) -> Callable[[], None]:
    return lambda: run(_found(spark, path, rules, single))


def _compared(spark: SparkSession, path: str, count: int) -> dict[str, Cell]:
    """How many matches the set has, and whether some of its rules have as many by themselves."""
    rules = made_rules(count)
    together = _found(spark, path, rules, single=False).persist()
    try:
        right = True
        for rule in list(rules)[:3]:
            own = together.where(f"rule = '{rule.name}'")
            alone = _found(spark, path, PatternSet([rule]), single=True)
            right &= summary(own, "match_id") == summary(alone, "match_id")
        return {"matches": together.count(), "right": right}
    finally:
        together.unpersist()


def draw(section: Section) -> Figure:
    """CPU seconds by the number of rules, together and one after the other."""
    from plots import curves

    counts = [float(str(row["case"])) for row in section.rows]
    lines = {"as a set": "cpu", "one after the other": "singles"}
    drawn = {name: (counts, [float(row[key] or 0) for row in section.rows]) for name, key in lines.items()}
    return curves({"rules": drawn}, "CPU seconds")
