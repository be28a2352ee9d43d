"""What the state of a stream belongs to: it must not change as long as the state lives.

In: a pattern's automaton and how it is run. Out: a JSON text that the checkpoint and each bucket's state carry; an
error that shows the difference where a restart brings another one. Called by the plan, on the driver, and by the state
store, in the workers.

Names are no part of it: variables and folds may be renamed, and so may measures. Neither are limits, the form of the
rows that come out, nor what measures compute, as long as they read the same values of events: state keeps these values.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from cepheid.errors import StateError

FORMAT = 3
"""Of the identity and of what is kept beside it. Format 1 had names in it; state of format 2 is in three variables."""

_CALLED = {
    "pattern": "the pattern",
    "timeouts": "whether timeouts are looked for",
    "buckets": "the buckets",
    "partition_by": "partition_by",
    "order_by": "order_by",
    "columns": "the columns that travel",
    "read": "the columns that conditions and measures read",
    "measured": "what measures read of events",
    "time": "the time",
    "leftovers": "what else is looked for",
}
_ANEW = "start with a new checkpoint, and the events that\n  still matter as its history: start(history=…)."


@dataclass(frozen=True, slots=True)
class Identity:
    """What a stream's state was made by."""

    pattern: str
    """The pattern's fingerprint, and its `id=` if it has one."""
    text: str
    """The pattern for people to read; not compared, since it has names in it."""
    timeouts: bool
    buckets: tuple[int, ...]
    partition_by: tuple[str, ...]
    order_by: tuple[str, ...]
    columns: dict[str, str]
    """The columns that travel, with their types."""
    read: dict[str, str]
    """The columns that conditions and measures read, with their types."""
    measured: tuple[str, ...]
    """The expressions over an event that measures read."""
    time: str
    leftovers: tuple[str, ...] = ()
    """Which of broken runs and unmatched rows are looked for."""

    def to_json(self) -> str:
        """The identity as one line of text."""
        return json.dumps({"format": FORMAT, **dataclasses.asdict(self)})

    @classmethod
    def from_json(cls, saved: str, what: str) -> Identity:
        """The identity that `to_json` wrote; `what` names the place in errors."""
        names = [field.name for field in dataclasses.fields(cls)]
        try:
            known = json.loads(saved)
            if isinstance(known, dict) and known.get("format", 1) != FORMAT and "pattern" in known:
                raise _of_another_version(known.get("format", 1), what)
            values = {name: known[name] for name in names}
            given: dict[str, Any] = {
                n: tuple(value) if isinstance(value, list) else value for n, value in values.items()
            }
            return cls(**given)
        except (ValueError, TypeError, KeyError) as error:
            raise StateError(
                f"{what} is damaged: {saved[:60]!r} does not say what the state belongs to.\n"
                "  Restore the checkpoint from a complete copy, or start with a new checkpoint."
            ) from error

    def refuse_difference(self, given: Identity) -> None:
        """Refuse to go on with state that belongs to something else, and say what differs."""
        lines = []
        for field, name in _CALLED.items():
            if getattr(self, field) != getattr(given, field):
                shown = "text" if field == "pattern" else field
                was, now = _shown(getattr(self, shown)), _shown(getattr(given, shown))
                lines.append(f"  {name}: was {was}\n  {' ' * len(name)}   is {now}")
        if lines:
            difference = "\n".join(lines)
            raise StateError(
                f"the checkpoint belongs to something else:\n{difference}\n"
                f"  Go on with what it was written for; or {_ANEW}"
            )


def _of_another_version(format: object, what: str) -> StateError:
    return StateError(
        f"{what} has format {format}, this version of Cepheid reads format {FORMAT}.\n"
        f"  Use the version of Cepheid that wrote it; or {_ANEW}"
    )


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {kind}" for name, kind in value.items()) or "none"
    if isinstance(value, tuple) and value and isinstance(value[0], int):
        return f"{len(value)} buckets ({', '.join(map(str, value))})"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)
