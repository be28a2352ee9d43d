"""A job on a stream: start the query, show how it goes until it ends.

In: a job and what its pattern finds. Out: files, a live table in a terminal, a line for each micro-batch elsewhere.
Called by `running`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

from cepheid.cli.job_file import Job, Sink
from cepheid.cli.reading_writing import history_of
from cepheid.errors import InputError

if TYPE_CHECKING:
    from cepheid.spark.embedded import SparkSession
    from cepheid.spark.jobs import Figures, StreamingQuery, Watch
    from cepheid.spark.stream.found import FoundInStream
    from cepheid.spark.stream.row_found import FoundRowsInStream
    from cepheid.spark.stream.sinks import Sink as StreamSink

_SHOWN = 10
_PAUSE = 1
_UNITS = {"d": 86_400, "h": 3_600, "min": 60}


def run_stream(console: Console, job: Job, found: FoundInStream | FoundRowsInStream) -> int:
    """Run a stream until it ends or is interrupted; its checkpoint goes on from there."""
    from cepheid.spark.stream.found import FoundInStream
    from cepheid.spark.stream.query import Starting, started

    if job.stream is None:
        raise InputError("the source is a stream, but [source] does not say so.\n  Write stream = true there.")
    given = job.stream
    sinks = {name: stream_sink(sink) for name, sink in job.sinks.items()}
    plan = found.plan.looking_for(sinks) if isinstance(found, FoundInStream) else found.plan
    how = Starting(
        given.checkpoint,
        sinks,
        given.trigger,
        flush=given.flush,
        on_error=given.on_error,
        idle=given.idle,
        history=history_of(plan.session, given),
    )
    return follow(console, job, plan.session, lambda show: started(plan, how, show))


def follow(
    console: Console,
    job: Job,
    session: SparkSession,
    start: Callable[[Callable[[StreamingQuery], None]], StreamingQuery],
) -> int:
    """Start a stream, and show how it goes until it ends or is interrupted. `start` is given what shows a query."""
    from cepheid.spark.jobs import Watch, running, stop

    assert job.stream is not None
    given = job.stream
    others = running(session)
    watch = Watch(session, given.checkpoint)
    try:
        query = start(lambda query: _show(console, query, watch))
        if not given.flush:
            _show(console, query, watch)
    except KeyboardInterrupt:
        with console.status("stopping at the end of the micro-batch"):
            stop(session, others)
        raise KeyboardInterrupt(f"the checkpoint {given.checkpoint} is good; run the same job again to go on") from None
    console.print(_totals(watch), soft_wrap=True)
    if given.flush:
        console.print(f"the input is over; all that waited is decided ({query.id})", soft_wrap=True)
    return 0


def _show(console: Console, query: StreamingQuery, watch: Watch) -> None:
    """A table or lines, until the query ends."""
    with Live(console=console, refresh_per_second=4, transient=False) as live:
        is_over = False
        while not is_over:
            is_over = bool(query.awaitTermination(_PAUSE))
            fresh = watch.look(query)
            if console.is_terminal:
                live.update(_table(watch))
            else:
                for one in fresh:
                    console.print(_line(one), soft_wrap=True)


def stream_sink(sink: Sink) -> StreamSink:
    """A sink of a job as a stream takes it."""
    from cepheid.spark.sinks import Files

    if sink.format == "console" or sink.path is None:
        return "console"
    return Files(sink.path, sink.format or "parquet", sink.options)


_COLUMNS = {
    "events": "rows",
    "irrelevant": "irrelevant",
    "late": "late",
    "rejected": "rejected",
    "matches": "matches",
    "timeouts": "timeouts",
}
"""What is added up, and the name that a micro-batch's account has for it."""


def _table(watch: Watch) -> Table:
    """The latest micro-batches, and all of them together."""
    added = {shown: name for shown, name in _COLUMNS.items() if name != "irrelevant"}
    names = ("batch", "events/s", *added, "live runs", "waiting", "lag")
    table = Table(*names, show_footer=True, box=box.SIMPLE_HEAVY, padding=0, show_edge=False)  # for 80 columns
    for column in table.columns:
        column.justify = "right"
    for one in list(watch.seen.values())[-_SHOWN:]:
        rate = f"{one.account.rows / one.seconds:,.0f}" if one.seconds else ""
        counts = [getattr(one.account, name) for name in added.values()]
        counts += [one.runs, one.pending]
        table.add_row(str(one.account.batch), rate, *(f"{count:,}" for count in counts), _lag(one))
    table.columns[0].footer = "all"
    for column, name in zip(table.columns[2:], added.values(), strict=False):
        column.footer = f"{watch.total(name):,}"
    return table


def _line(one: Figures) -> str:
    account = one.account
    dropped = f"{account.irrelevant:,} irrelevant, {account.late:,} late, {account.rejected:,} rejected"
    found = f"{account.matches:,} matches, {account.timeouts:,} timeouts"
    holds = f"{one.runs:,} live runs, {one.pending:,} waiting"
    return f"batch {account.batch}: {account.rows:,} events in {one.seconds:.1f} s, {dropped}, {found}, {holds}"


def _totals(watch: Watch) -> str:
    counts = ", ".join(f"{watch.total(name):,} {shown}" for shown, name in _COLUMNS.items())
    batches = len(watch.seen)
    return f"{batches:,} micro-batch{'' if batches == 1 else 'es'}: {counts}"


def _lag(one: Figures) -> str:
    """How far the watermark is behind, in the unit that leaves a short number."""
    if one.lag is None:
        return ""
    for unit, seconds in _UNITS.items():
        if one.lag >= seconds:
            return f"{one.lag / seconds:,.1f} {unit}"
    return f"{one.lag:.0f} s"
