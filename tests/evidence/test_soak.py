"""How a soak is judged: what grows is told from what only warms up or goes up and down."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'cepheid[spark]'")
pytest.importorskip("matplotlib", reason="the figures are drawn with matplotlib")
sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from soak import MEMORY, Classes, Counts, Sample, judged, report, slope

STEADY = Sample(0.0, 900_000_000, 150_000_000, 600_000_000, 300_000_000, 120_000_000, 2_000_000, 5_000, 2_500, 0, 0)


def samples(change: Callable[[int], dict[str, int]]) -> list[Sample]:
    return [replace(STEADY, seconds=5.0 * number, events=number, **change(number)) for number in range(180)]


def verdicts(change: Callable[[int], dict[str, int]]) -> dict[str, bool]:
    return {row["what"]: row["right"] for row in judged(samples(change))}


def test_what_stays_is_flat() -> None:
    assert set(verdicts(lambda number: {}).values()) == {True}
    saws = verdicts(lambda number: {"state_bytes": 1_000_000 + 100_000 * (number % 20), "runs": 5_000 + number % 7})
    assert set(saws.values()) == {True}


def test_a_warm_up_is_not_growth() -> None:
    warming = verdicts(lambda number: {"java": 500_000_000 + 10_000_000 * min(number, 50)})
    assert set(warming.values()) == {True}


@pytest.mark.parametrize("name", [*MEMORY, "state_bytes", "runs", "pending"])
def test_what_grows_is_told(name: str) -> None:
    """A hundredth more with every sample."""
    found = verdicts(lambda number: {name: int(getattr(STEADY, name) * (1 + 0.01 * number))})
    assert list(found.values()).count(False) == 1


def test_slopes_and_titles() -> None:
    assert slope([1.0, 2.0, 4.0], [3.0, 5.0, 9.0]) == pytest.approx(2.0)
    classes = Classes()
    classes.take([progress(0, 10, irrelevant=3, late=1, handled=2, waiting=4)])
    section = report(samples(lambda number: {}), 179.0, classes)
    assert section.is_right and "15 minutes, 179 events" in section.title and "0.20 cores" in section.notes[1]
    assert "3 irrelevant, 1 late, 0 rejected, 2 handled, 4 waiting" in section.notes[0]


def progress(batch: int, rows: int, irrelevant: int, late: int, handled: int, waiting: int) -> dict[str, Any]:
    counts = {"events": rows - irrelevant, "late": late, "rejected": 0, "handled": handled, "pending_change": waiting}
    return {
        "batchId": batch,
        "numInputRows": rows,
        "observedMetrics": {"cepheid": counts, "cepheid.read": {"rows": rows}},
    }


def test_an_event_in_no_class_or_in_two_is_noticed() -> None:
    right = [progress(0, 10, 3, 1, 2, 4), progress(1, 5, 0, 0, 9, -4), progress(2, 0, 0, 0, 0, 0)]
    lost, doubled = progress(1, 5, 0, 0, 8, -4), progress(1, 5, 0, 0, 10, -4)
    for batches, is_right in (
        (right, True),
        ([right[0], lost, right[2]], False),
        ([right[0], doubled, right[2]], False),
        ([right[0], right[2]], False),
    ):
        classes = Classes()
        classes.take(batches)
        classes.take(batches)  # seen before
        assert classes.row()["right"] is is_right


def test_each_micro_batch_counts_once() -> None:
    class Progress:
        def __init__(self, batch: int, events: int) -> None:
            self.batchId, self.observedMetrics = batch, {"cepheid": self}
            self.counts = {"events": events, "matches": 2, "state_bytes": events, "runs": None, "pending": 1}

        def asDict(self) -> dict[str, Any]:
            return self.counts

    counts = Counts()
    counts.take([Progress(0, 5)])
    counts.take([Progress(0, 5), Progress(1, 7), Progress(2, 0)])
    assert (counts.events, counts.matches, counts.last["state_bytes"]) == (12, 6, 7)
