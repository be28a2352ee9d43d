"""How a plan runs a pattern on given rows, as plain data.

A plan (Spark batch, Spark streaming, rows in memory) fills in an `Execution`; `explaining` adds it to what is true of
the pattern anywhere. Nothing here knows Spark.
"""

from __future__ import annotations

from dataclasses import dataclass


def rows_that_travel(every_one_because: str | None) -> str:
    """Which rows travel, given the answer of `why_all_rows_travel`.

    >>> rows_that_travel("the window counts events")
    'all rows travel: the window counts events'
    """
    if every_one_because is None:
        return "rows that satisfy no condition are dropped first"
    return f"all rows travel: {every_one_because}"


@dataclass(frozen=True, slots=True)
class Execution:
    """What a plan has decided.

    >>> plan = Execution("Spark, batch", columns=("tag", "ts"), computed=("mask",), buckets="8 buckets of keys")
    >>> plan.facts()[0]
    ('runs on', 'Spark, batch')
    """

    runs_on: str
    """For example "Spark, batch" or "this process"."""
    columns: tuple[str, ...] = ()
    """The columns that travel to the engine, in their order."""
    computed: tuple[str, ...] = ()
    """What Spark computes and sends along: the mask of conditions, expressions that the run compares."""
    rows: str = ""
    """Which rows travel: `rows_that_travel` says it."""
    buckets: str = ""
    """How keys are spread, for example "8 buckets of keys, 4 for each core"."""
    shuffle: str = ""
    """How rows come together, for example "packed Arrow cells, repartitionById"."""
    further: tuple[tuple[str, str], ...] = ()
    """Whatever else this plan has to say, as (what, how) pairs."""
    warnings: tuple[str, ...] = ()
    """What may go wrong or be slow, each with the way out."""

    def facts(self) -> tuple[tuple[str, str], ...]:
        """All of it as (what, how) pairs; what was not said is left out."""
        said = (
            ("runs on", self.runs_on),
            ("columns that travel", ", ".join(self.columns)),
            ("computed on the way", ", ".join(self.computed)),
            ("rows", self.rows),
            ("buckets", self.buckets),
            ("shuffle", self.shuffle),
            *self.further,
        )
        return tuple((what, how) for what, how in said if how)
