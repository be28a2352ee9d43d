"""Cases of MATCH_RECOGNIZE as streams: the rows come in parts, in the order of the clause.

A stream is in the order of time. Where a clause orders by something else, each row gets the time that its place in that
order is, the clause orders by this time, and the columns of the result are put in the order that the case expects.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sql_cases import SqlCase

from cepheid import RowPattern, SkipError
from cepheid.conditions import Schema
from cepheid.conditions.expression import Name
from cepheid.match_recognize import read
from cepheid.rowpattern.binding import BoundRowPattern, bind
from cepheid.rowpattern.model import RowPattern as Model
from cepheid.rowpattern.model import Sort
from cepheid.rows.row_order import ordered

TIME = "__place_in_order"
PARTS, PARTS_ON_SPARK = 3, 2
"""How many parts the rows come in; on Spark each is a micro-batch, with workers of its own."""

CHEAP = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
"""Each case is a query of a few rows: neither workers nor code for many partitions and rows are worth their start."""


@dataclass(frozen=True)
class TimedCase:
    """A case whose clause orders by time."""

    bound: BoundRowPattern
    """As the case says it."""
    model: Model
    table: pa.Table
    time: str

    def parts(self, count: int = PARTS) -> list[pa.Table]:
        """The rows in a few parts; none of them is empty."""
        bounds = np.unique(np.linspace(0, self.table.num_rows, count + 1).astype(int))
        return [self.table.slice(begin, end - begin) for begin, end in pairwise(bounds)]

    def as_expected(self, found: pa.Table) -> pa.Table:
        """The columns of a result in the order of the case."""
        if self.time != TIME:
            return found
        given = bind(self.model, Schema.from_arrow(self.table.schema))
        names, before, count = given.input_columns, given.columns_before_measures, len(given.measures)
        columns = found.columns
        inputs = dict(zip(names, [*columns[:before], *columns[before + count :]], strict=True))
        own, own_before = self.bound.input_columns, self.bound.columns_before_measures
        arrays = [inputs[name] for name in own]
        measured = columns[before : before + count]
        called = [*own[:own_before], *(measure.name for measure in self.bound.measures), *own[own_before:]]
        return pa.Table.from_arrays([*arrays[:own_before], *measured, *arrays[own_before:]], names=called)


def timed(case: SqlCase) -> TimedCase:
    """The case as a stream would bring it."""
    table = case.table
    model = read(case.clause)
    bound = bind(model, Schema.from_arrow(table.schema))
    rows = ordered(table, (), bound.order_by).table
    if bound.order_by and not bound.order_by[0].descending:
        first = rows[bound.order_names[0]]
        if pa.types.is_timestamp(first.type) and not first.null_count:
            return TimedCase(bound, model, rows, bound.order_names[0])
    times = pa.array(1_000_000 * np.arange(1, rows.num_rows + 1), pa.timestamp("us", "UTC"))
    rows = rows.append_column(TIME, times)
    return TimedCase(bound, replace(model, order_by=(Sort(Name((TIME,))),)), rows, TIME)


def bucket(case: SqlCase) -> pa.Table:
    """The bucket of a stream alone, without Spark, written and read back after each part."""
    from spark.stream.row_stream import RowStream

    given = timed(case)
    running = RowStream(str(given.model), given.table.schema, forgetful=True)
    times = given.table[given.time].cast(pa.int64())
    found, seen = [], 0
    for part in given.parts():
        seen += part.num_rows
        # the last row of a part may have a tie in the next one
        found.append(running.step_table(part, times[seen - 1].as_py() - 1))
    found.append(running.step_table(None, 0, is_end=True))
    return given.as_expected(pa.concat_tables([table for table in found if table is not None] or [running.nothing()]))


def stream(spark: Any) -> Any:
    """`RowPattern.match` on a streaming DataFrame, flushed at its end."""
    from pyspark.errors import StreamingQueryException

    for name, value in CHEAP.items():
        spark.conf.set(name, value)

    def engine(case: SqlCase) -> pa.Table:
        given, found = timed(case), []
        with tempfile.TemporaryDirectory() as place:
            source = Path(place) / "in"
            source.mkdir()
            for number, part in enumerate(given.parts(PARTS_ON_SPARK)):
                pq.write_table(part, source / f"{number}.parquet")
                os.utime(source / f"{number}.parquet", (1_700_000_000 + number, 1_700_000_000 + number))
            schema = spark.createDataFrame(given.table).schema
            rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # many cases have loops without conditions
                matching = RowPattern(given.model).match(rows, buckets=1, watermark="1 millisecond")
            try:
                matching.start(
                    matches=lambda rows, batch: found.append((batch, rows.toArrow())),
                    checkpoint=f"{place}/checkpoint",
                    flush=True,
                )
            except (SkipError, StreamingQueryException) as error:
                raise SkipError(str(error)) if "SkipError" in str(error) else error from error
            schema = matching.plan.schema("matches")
        tables = [table for _, table in sorted(found, key=lambda part: part[0])]
        empty = spark.createDataFrame([], schema).toArrow()
        return given.as_expected(pa.concat_tables([empty, *tables]))

    return engine
