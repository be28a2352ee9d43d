"""The stateful operator put on a stream: the step that all plans of streams share.

In: rows with the hash of their key, as a plan prepared them, then cells by bucket, and what the workers must know. Out:
the stream after the operator, cells by kind. Called by `plan` and `row_plan`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from pyspark.sql import DataFrame

from cepheid.spark.cells import LIGHT
from cepheid.spark.keys import HASHES
from cepheid.spark.pack_workers import BUCKET, PAYLOAD, PackByHash
from cepheid.spark.shipping import mapped
from cepheid.spark.stream.accounts import counted
from cepheid.spark.stream.control import told
from cepheid.spark.stream.history import cells
from cepheid.spark.stream.operator import OUTPUT
from cepheid.spark.stream.shipped_operator import ShippedOperator
from cepheid.spark.stream.state.pending import BucketWork
from cepheid.spark.stream.time import TIME, EventTime


def in_cells(travelled: DataFrame, bucket_ids: Sequence[int], time: EventTime) -> DataFrame:
    """Rows as they travel, as cells by bucket."""
    copied = (time.field.name, TIME) if time.is_copied else None
    pack = PackByHash(ids=tuple(bucket_ids), hashed=HASHES[0], time=copied, cell_bytes=LIGHT)
    return mapped(travelled, pack, f"`{BUCKET}` int, `{PAYLOAD}` binary")


def operated_by(
    packed: DataFrame,
    lines: DataFrame | None,
    bucket_ids: Sequence[int],
    work: BucketWork[Any],
    observed: str,
    has_history: bool = False,
    asked: Collection[str] = (),
) -> DataFrame:
    """The stream after the operator. `lines`: the control source, which may end the input, and begin it with a history;
    `observed`: the name of the counts in the query's progress; `asked`: the kinds of output that are asked for."""
    if lines is not None:
        packed = packed.unionByName(told(lines, bucket_ids, BUCKET, PAYLOAD))
        if has_history:
            packed = packed.unionByName(cells(lines))
    operated = packed.groupBy(BUCKET).transformWithStateInPandas(ShippedOperator(work), OUTPUT, "append", "EventTime")
    return operated.observe(observed, *counted(asked))
