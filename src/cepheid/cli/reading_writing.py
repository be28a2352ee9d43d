"""What jobs have in common: the rows of a source, and an output written with a progress bar.

In: parts of a job. Out: DataFrames; files or tables. Called by `running` and `row_patterns`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from cepheid.cli.bars import task_bar
from cepheid.cli.job_file import Job, Sink, Source, Streaming

if TYPE_CHECKING:
    from cepheid.spark.embedded import SparkSession
    from cepheid.spark.jobs import Counted, DataFrame
    from cepheid.spark.stream.history import Given


def rows_of(session: SparkSession, source: Source) -> DataFrame:
    """The rows of a source."""
    from cepheid.spark.jobs import read_rows

    return read_rows(
        session,
        source.format,
        source.path,
        source.table,
        source.schema,
        source.where,
        source.options,
        source.is_stream,
    )


def tables_of(session: SparkSession, job: Job) -> dict[str, DataFrame]:
    """The rows of a job by element; those of its only table have no name. A table of several elements is read once."""
    if not job.sources:
        return {"": rows_of(session, job.source)}
    read: dict[int, DataFrame] = {}
    for source in job.sources.values():
        if id(source) not in read:
            read[id(source)] = rows_of(session, source)
    return {element: read[id(source)] for element, source in job.sources.items()}


def history_of(session: SparkSession, stream: Streaming) -> Given | None:
    """The events that come before those of a stream, if the job has any."""
    from cepheid.spark.stream.history import Given

    if stream.history is None:
        return None
    return Given(rows_of(session, stream.history.source), stream.history.seam)


def write(console: Console, name: str, sink: Sink, events: Sequence[Counted], rows: DataFrame) -> None:
    """Write one output with a progress bar, then say how much went in and came out."""
    from cepheid.spark.jobs import counted, write_rows

    result = counted(rows, name)
    begun = time.perf_counter()
    where = sink.path or sink.table or sink.format
    try:
        with task_bar(console, rows.sparkSession, name):
            write_rows(result.rows, sink.format, sink.path, sink.table, sink.mode, sink.options, sink.partition_by)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{name} in {where} are not complete; run the job again") from None
    if sink.format == "console":  # only the first rows were computed, so there is nothing to count
        return
    seconds = time.perf_counter() - begun
    count = sum(one.count() for one in events)
    rate = f"{count / seconds:,.0f} events/s"
    console.print(
        f"{name}: {result.count():,} of {count:,} events in {seconds:.1f} s ({rate}) → {where}", soft_wrap=True
    )
