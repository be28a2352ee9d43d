"""Events that the engine cannot handle: they exceed a limit, or a condition cannot be computed on them.

In: a bucket, and how far the watermark is. Out: what was decided, and which events were refused and why. Called by
`operator`, in the workers.

Such an event comes again on every restart. Two ways lead past it, both with the same checkpoint: start again with a
larger limit; or say `on_error=` when starting. Then the events of its key at its time are refused ("skip_moment"), or
all events of its key that are due, and with them the key's partial matches ("skip_key"); all others are handled. The
engine stops in the midst of an event, so the bucket is read anew and handled without what is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from cepheid.errors import CepheidError, EvaluationError, LimitError, SkipError
from cepheid.options import one_of
from cepheid.spark.stream.state.pending import Bucket, Decided

STOP, SKIP_MOMENT, SKIP_KEY = ON_ERROR = ("stop", "skip_moment", "skip_key")


def checked_on_error(given: object) -> str:
    """What is to become of such events, as a user says it."""
    choices = (
        '"stop": the query stops; "skip_moment": the events of that key and time are rejected; "skip_key": so are the '
        "others of the key that are due, and its partial matches are dropped."
    )
    one_of(given, "on_error", ON_ERROR, choices)
    return str(given)


@dataclass(frozen=True, slots=True)
class Handled:
    """The outcome of one step."""

    bucket: Bucket
    decided: Decided
    refused: pa.Table | None = None
    """Events with the `reason`."""
    taken_back: int = 0
    """How many of these had been handled before: partial matches held them."""


def handle(bucket: Bucket, watermark: int, is_end: bool, on_error: str, read_anew: Callable[[], Bucket]) -> Handled:
    """Let time move on in a bucket, past events that cannot be handled if the user says so."""
    places: dict[tuple[bytes, int | None], str] = {}
    refused: list[pa.Table] = []
    taken_back = 0
    while True:
        try:
            decided = bucket.advance(watermark, is_end)
            return Handled(bucket, decided, pa.concat_tables(refused) if refused else None, taken_back)
        except (LimitError, EvaluationError, SkipError) as error:
            if bucket.stopped is None:  # it is about no one key
                raise
            key, time = bucket.stopped
            bucket = read_anew()
            said = str(error) if time is not None else f"{bucket.named(key)}, {error}"
            place = key, None if on_error == SKIP_KEY else time
            if on_error == STOP or place in places:
                raise _with_ways_out(error, said) from error
            dropped = "" if place[1] is not None else " (with it, the partial matches of its key were dropped)"
            places[place] = said.splitlines()[0] + dropped
        refused, taken_back = [], 0
        for (key, time), reason in places.items():
            rows, is_held = bucket.refuse(key, time, None if is_end else watermark)
            taken_back += rows.num_rows if is_held else 0
            refused.append(rows.append_column("reason", pa.array([reason] * rows.num_rows, pa.string())))


def _with_ways_out(error: CepheidError, said: str) -> CepheidError:
    larger = "start again with a larger limit, or " if isinstance(error, LimitError) else ""
    return type(error)(
        f"{said}\n  The query can go on with the same checkpoint: {larger}"
        f'start(..., on_error="{SKIP_KEY}"), which puts such events out as rejected.'
    )
