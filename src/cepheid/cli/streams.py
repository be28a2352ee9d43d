"""A job on a stream: start the query, show how it goes until it ends.

In: a job and what its pattern finds. Out: files, a live table in a terminal, a line for each micro-batch elsewhere.
Called by `running`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from cepheid.cli.job_file import Job, Sink, Streaming
from cepheid.errors import InputError

if TYPE_CHECKING:
    from cepheid.spark.jobs import Figures, StreamingQuery
    from cepheid.spark.stream.plan import FoundInStream
    from cepheid.spark.stream.sinks import Sink as StreamSink

_SHOWN = 10
_PAUSE = 1
_UNITS = {"d": 86_400, "h": 3_600, "min": 60}


def run_stream(console: Console, job: Job, found: FoundInStream) -> int:
    """Run a stream until it ends or is interrupted; its checkpoint goes on from there."""
    from cepheid.spark.jobs import running, stop

    if job.stream is None:
        raise InputError("the source is a stream, but [source] does not say so.\n  Write stream = true there.")
    sinks = {name: _sink(sink) for name, sink in job.sinks.items()}
    session = found.plan.session
    others = running(session)
    try:
        if job.stream.flush:
            with console.status("working through the input, then ending it"):
                query = _started(found, job.stream, sinks)
            console.print(f"the input is over; all that waited is decided ({query.id})")
        else:
            _show(console, _started(found, job.stream, sinks))
    except KeyboardInterrupt:
        with console.status("stopping at the end of the micro-batch"):
            stop(session, others)
        raise KeyboardInterrupt(
            f"the checkpoint {job.stream.checkpoint} is good; run the same job again to go on"
        ) from None
    return 0


def _show(console: Console, query: StreamingQuery) -> None:
    """A table or lines, until the query ends."""
    from cepheid.spark.jobs import figures

    seen: dict[int, Figures] = {}
    with Live(console=console, refresh_per_second=4, transient=False) as live:
        is_over = False
        while not is_over:
            is_over = bool(query.awaitTermination(_PAUSE))
            fresh = [one for one in figures(query) if one.batch not in seen]
            seen |= {one.batch: one for one in fresh}
            if console.is_terminal:
                live.update(_table(seen))
            else:
                for one in fresh:
                    console.print(_line(one), soft_wrap=True)


def _started(found: FoundInStream, running: Streaming, sinks: dict[str, StreamSink]) -> StreamingQuery:
    return found.start(
        checkpoint=running.checkpoint,
        matches=sinks.get("matches"),
        timeouts=sinks.get("timeouts"),
        late=sinks.get("late"),
        rejected=sinks.get("rejected"),
        trigger=running.trigger,
        flush=running.flush,
    )


def _sink(sink: Sink) -> StreamSink:
    from cepheid.spark.sinks import Files

    if sink.format == "console" or sink.path is None:
        return "console"
    return Files(sink.path, sink.format or "parquet", sink.options)


def _table(seen: dict[int, Figures]) -> Table:
    """The latest micro-batches, and all of them together."""
    names = ("batch", "events", "events/s", "late", "rejected", "matches", "timeouts", "live runs", "waiting", "lag")
    table = Table(*names, show_footer=True, box=box.SIMPLE_HEAVY, padding=0, show_edge=False)  # for 80 columns
    for column in table.columns:
        column.justify = "right"
    for one in list(seen.values())[-_SHOWN:]:
        rate = f"{one.events / one.seconds:,.0f}" if one.seconds else ""
        counts = (one.late, one.rejected, one.matches, one.timeouts, one.runs, one.pending)
        table.add_row(str(one.batch), f"{one.events:,}", rate, *(f"{count:,}" for count in counts), _lag(one))
    all_of = seen.values()
    totals = (
        sum(one.events for one in all_of),
        None,
        sum(one.late for one in all_of),
        sum(one.rejected for one in all_of),
        sum(one.matches for one in all_of),
        sum(one.timeouts for one in all_of),
    )
    table.columns[0].footer = "all"
    for column, total in zip(table.columns[1:7], totals, strict=True):
        column.footer = "" if total is None else f"{total:,}"
    return table


def _line(one: Figures) -> str:
    counts = f"{one.late:,} late, {one.rejected:,} rejected, {one.matches:,} matches, {one.timeouts:,} timeouts"
    return f"batch {one.batch}: {one.events:,} events in {one.seconds:.1f} s, {counts}, {one.runs:,} live runs"


def _lag(one: Figures) -> str:
    """How far the watermark is behind, in the unit that leaves a short number."""
    if one.lag is None:
        return ""
    for unit, seconds in _UNITS.items():
        if one.lag >= seconds:
            return f"{one.lag / seconds:,.1f} {unit}"
    return f"{one.lag:.0f} s"
