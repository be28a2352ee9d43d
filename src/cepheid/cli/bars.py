"""A progress bar for a batch job: how many of its tasks are done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from cepheid.spark.embedded import SparkSession


@contextmanager
def task_bar(console: Console, session: SparkSession, description: str) -> Iterator[None]:
    """Shows a bar as long as the block runs."""
    from cepheid.spark.jobs import watched

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tasks"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task(description, total=None)
        with watched(session, lambda done, tasks: progress.update(bar, completed=done, total=tasks or None)):
            yield
