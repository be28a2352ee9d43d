"""What became of the events of a stream that runs, and why there are not more matches.

In: the accounts of a query's latest micro-batches. Out: a `WhyStream`: every event in one class, what was found, and
likely causes: late events, rejected ones, time that does not move on. Called by `found`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from types import MappingProxyType

from cepheid.explain.why.model import Kind, Reason
from cepheid.reference.tracing import EventClass
from cepheid.spark.stream.accounts import Account


@dataclass(frozen=True, slots=True)
class WhyStream:
    """What became of a stream's events in its latest micro-batches. Print it; a notebook displays it."""

    batches: int
    events: Mapping[EventClass, int]
    """Each event in one class."""
    found: Mapping[str, int]
    """How many matches, timeouts, broken runs and unmatched events were put out."""
    live_runs: int
    """By how much the number of live runs has grown in these micro-batches: all of them, if they are the first."""
    reasons: tuple[Reason, ...]
    """Likely causes, the likeliest first."""

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        head, *lines = self._lines()
        items = "".join(f"<li>{escape(line.strip())}</li>" for line in lines if line)
        return f'<div class="cepheid-why"><p><b>{escape(head)}</b></p><ul>{items}</ul></div>'

    def _lines(self) -> Iterator[str]:
        total = _number(sum(self.events.values()), "event", "events")
        batches = f"{self.batches:,} micro-batch{'' if self.batches == 1 else 'es'}"
        yield f"{_number(self.found['matches'], 'match', 'matches')} in {total} of {batches}"
        for place, reason in enumerate(self.reasons, 1):
            yield f"  {place}. {reason}"
        yield f"Events: {', '.join(f'{kind.value} {count:,}' for kind, count in self.events.items()) or 'none'}"
        others = [f"{name} {count:,}" for name, count in self.found.items() if name != "matches" and count]
        yield f"Runs: {', '.join([*others, f'waiting {self.live_runs:,}'])}"


def why_stream(accounts: Sequence[Account]) -> WhyStream:
    """What became of the events of some micro-batches."""

    def total(name: str) -> int:
        return sum(getattr(one, name) for one in accounts)

    classes = {
        EventClass.HANDLED: total("handled"),
        EventClass.NOTHING: total("irrelevant"),
        EventClass.LATE: total("late"),
        EventClass.REJECTED: total("rejected"),
        EventClass.WAITS: total("pending_change"),
    }
    found = {name: total(name) for name in ("matches", "timeouts", "broken", "unmatched")}
    events = {kind: count for kind, count in classes.items() if count}
    why = WhyStream(len(accounts), MappingProxyType(events), MappingProxyType(found), total("runs_change"), ())
    return WhyStream(why.batches, why.events, why.found, why.live_runs, tuple(_reasons(why)))


def _reasons(why: WhyStream) -> Iterator[Reason]:
    rows = sum(why.events.values())
    late, rejected = why.events.get(EventClass.LATE, 0), why.events.get(EventClass.REJECTED, 0)
    if not rows:
        yield Reason(Kind.NO_ROWS, "No event has come.", "Look at what the source reads.")
    share = {
        Reason(
            Kind.LATE,
            f"{late:,} of {rows:,} events came after the watermark had passed them.",
            "Give match(..., watermark=...) more time; the output late has these events.",
        ): late,
        Reason(
            Kind.REJECTED,
            f"{rejected:,} of {rows:,} events could not be used.",
            "The output rejected has them, each with the reason.",
        ): rejected,
    }
    yield from (reason for reason, count in sorted(share.items(), key=lambda pair: -pair[1]) if count)
    if why.found["matches"] or not rows:
        return
    if why.events.get(EventClass.NOTHING, 0) == rows:
        remedy = "Ask pattern.why(...) of a batch of these events which condition is never true."
        yield Reason(Kind.NEVER, "No event satisfies any condition of the pattern.", remedy)
    if waits := why.events.get(EventClass.WAITS, 0):
        text = f"{_number(waits, 'event waits', 'events wait')} for the watermark, which only later events move on."
        yield Reason(Kind.WAITING, text, 'Say start(..., idle="30 seconds") if the source may fall silent.')
    if why.live_runs > 0:
        text = f"{_number(why.live_runs, 'run waits', 'runs wait')} for further events."
        yield Reason(Kind.WAITING, text, "cepheid state CHECKPOINT says for what, and until when.", "runs")


def _number(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"
