"""The history of rules that are added while a stream runs.

In: a batch DataFrame of events, packed as the stream's are, when a set is started with new rules. Out: cells for the
control source (`stream.history`); in the workers, which of these events count. Called by `stream_plan` and `bucket`.

Such a rule sees each event once: those of the history, and those that the stream reads from then on. If the history
has all that the stream has read, nothing is missing. In a bucket that means:

* Of the events up to the watermark none can come any more, so those of the history count.
* Events after the watermark wait, those of the history as well as those that the stream reads. When the watermark has
  passed them they are all there, and where an event of the history is the same as one that the stream has brought
  since, it is left out. The same: the same key, time, and values of the columns that matches show.

Until the history has come a new rule sees nothing: a micro-batch that was interrupted is repeated first, and its
events are in the history, too. Each bucket is told by a row without a time, a *mark*, that the history has come,
whether it has events for that bucket or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cepheid.spark.keys import HASHES
from cepheid.spark.rules.workers import group_name
from cepheid.spark.stream.time import REASON, TIME

GENERATION = "__step"
"""A column of events on their way: the generation of the set in which they came. Below zero: an event of a history, for
the rules that began in the generation of that number."""
BROUGHT, MARK = -1, -2
"""In place of the reason why a row is rejected: an event of a history, and a mark."""


def brought(travelled: DataFrame, generation: int, buckets: Sequence[Sequence[int]]) -> tuple[DataFrame, int]:
    """Rows of a history as they travel to the rules of a generation, with marks for the buckets of each key; and how
    many marks there are."""
    rows = travelled.withColumns({REASON: F.lit(BROUGHT).cast("tinyint"), GENERATION: F.lit(-generation).cast("int")})
    names = [group_name(number) for number in range(len(buckets))]
    marks = [(MARK, -generation, *places) for places in zip(*buckets, strict=True)]
    schema = ", ".join([f"`{REASON}` tinyint", f"`{GENERATION}` int", *(f"`{name}` int" for name in names)])
    told = travelled.sparkSession.createDataFrame(marks, schema)
    return rows.unionByName(told.coalesce(1), allowMissingColumns=True), len(marks) * len(buckets)


def each_once(due: pa.Table, shown: Sequence[str]) -> pa.Table:
    """The events that are to be handled, without those of a history that the stream has brought to its rules."""
    generation, time = due[GENERATION].to_numpy(), due[TIME].to_numpy()
    histories = np.unique(generation[generation < 0])
    if not len(histories):
        return due
    kept: npt.NDArray[np.bool_] = np.ones(due.num_rows, bool)
    names = list(dict.fromkeys((*HASHES, TIME, *shown)))
    for history in histories:
        live = generation >= -history
        doubtful = np.flatnonzero((generation == history) & np.isin(time, time[live]))
        if not len(doubtful):
            continue
        times = pa.array(np.unique(time[doubtful]))
        same_time = due.filter(pa.array(live)).select(names)
        known = Counter(map(repr, same_time.filter(pc.is_in(same_time[TIME], times)).to_pylist()))
        for place, row in zip(doubtful, due.select(names).take(pa.array(doubtful)).to_pylist(), strict=True):
            if known[repr(row)]:
                known[repr(row)] -= 1
                kept[place] = False
    return due.filter(pa.array(kept))


def marks_in(events: pa.Table) -> tuple[pa.Table, set[int]]:
    """The events without marks, and the generations whose history the marks say has come."""
    is_mark = events[TIME].is_null()
    generations = {-one for one in events[GENERATION].filter(is_mark).to_pylist()}
    return (events.filter(pc.invert(is_mark)) if generations else events), generations
