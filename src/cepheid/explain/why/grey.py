"""Runs that failed, for a timeline to draw in grey.

In: an `Inquiry`. Out: `Failure`s, those of each partition that came furthest.
"""

from __future__ import annotations

from cepheid.explain.timeline.panels import Failure
from cepheid.explain.why.asking import Inquiry
from cepheid.explain.why.document import event_text
from cepheid.explain.why.failures import failed_run, furthest


def failures_of(inquiry: Inquiry, count: int) -> tuple[Failure, ...]:
    """Up to `count` failed runs of each partition that was followed."""
    found: list[Failure] = []
    for one in inquiry.followed:
        key = inquiry.key_of(one)
        for _, run in furthest([one], count):
            told = failed_run(one.record, run, key, inquiry.names, with_near=False)
            event = f" ({event_text(told.event, key)})" if told.event is not None else ""
            at = told.ended_time
            found.append(
                Failure(
                    tuple(key.values()),
                    tuple((step.element, dict(step.event)) for step in told.taken),
                    f"{told.words}{event}",
                    None if at is None else float(at),
                )
            )
    # Partitions in which runs came furthest first, so that they are among those drawn.
    return tuple(sorted(found, key=lambda failure: -len(failure.taken)))
