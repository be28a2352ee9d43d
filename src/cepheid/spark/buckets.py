"""How keys are spread over tasks: the number of buckets, and the ids that stand for them.

In: a DataFrame, or numbers. Out: a number of buckets; ids. Nothing here reads data.
"""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

BYTES_A_BUCKET = 32 << 20
"""What a bucket should hold of the input as Spark estimates it, which is on disk and often compressed."""
UNKNOWN_SIZE = 1 << 50
"""From here on an estimate is none: Spark says eight exabytes where it knows nothing."""
MOST_BUCKETS = 20_000
_UNITS = {"B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40, "PiB": 50, "EiB": 60}
_SIZE = re.compile(r"Statistics\(sizeInBytes=([\d.]+(?:E[+-]?\d+)?) (B|KiB|MiB|GiB|TiB|PiB|EiB)")


def plan_text(rows: DataFrame, mode: str) -> str:
    """A plan of Spark's as text; nothing is run."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        rows.explain(mode=mode)
    return printed.getvalue()


def estimated_bytes(rows: DataFrame) -> int | None:
    """The size of a DataFrame as Spark's optimizer estimates it, None where it does not know."""
    found = _SIZE.search(plan_text(rows, "cost"))
    if found is None:
        return None
    size = int(float(found[1]) * 2 ** _UNITS[found[2]])
    return size if size < UNKNOWN_SIZE else None


def parallelism(rows: DataFrame) -> int:
    """How many tasks run at once, as far as Spark tells; Spark Connect does not."""
    try:
        return max(1, int(rows.sparkSession.sparkContext.defaultParallelism))
    except PySparkException:
        return max(1, int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions", "8") or 8) // 4)


def bucket_count(size: int | None, tasks: int) -> int:
    """One for each `BYTES_A_BUCKET`, rounded up so that every task gets as many; four a task if nothing is known."""
    if size is None:
        return 4 * tasks
    rounds = -(-size // (BYTES_A_BUCKET * tasks))
    return int(min(max(1, rounds) * tasks, max(MOST_BUCKETS, tasks)))


def spread_ids(count: int, partitions: int) -> tuple[int, ...]:
    """Numbers that Spark's hash partitioning spreads evenly: as many for each partition, first id for first."""
    rounds = -(-count // partitions)
    by_partition: list[list[int]] = [[] for _ in range(partitions)]
    missing, number = rounds * partitions, 0
    while missing:
        ids = by_partition[murmur3(number) % partitions]
        if len(ids) < rounds:
            ids.append(number)
            missing -= 1
        number += 1
    return tuple(ids[turn] for turn in range(rounds) for ids in by_partition)[:count]


def murmur3(number: int) -> int:
    """Spark's hash of a 32-bit integer (Murmur3, seed 42), as a signed number; `%` of Python is Spark's pmod."""
    mixed = _rotated(number * 0xCC9E2D51, 15) * 0x1B873593
    state = (_rotated(42 ^ (mixed & 0xFFFFFFFF), 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    state ^= 4
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = ((state ^ (state >> shift)) * factor) & 0xFFFFFFFF
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _rotated(word: int, by: int) -> int:
    word &= 0xFFFFFFFF
    return ((word << by) | (word >> (32 - by))) & 0xFFFFFFFF
