"""What the state of a stream belongs to: it must not change as long as the state lives.

In: a pattern's automaton and how it is run. Out: a JSON text that the state carries; an error that shows the difference
where a restart brings another one. Called by the plan, on the driver, and by the state store, in the workers.

Names of variables may change: the fingerprint of a pattern leaves them out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from cepheid.errors import StateError

_NAMES = {
    "pattern": "the pattern",
    "timeouts": "whether timeouts are looked for",
    "buckets": "the buckets",
    "partition_by": "partition_by",
    "order_by": "order_by",
    "columns": "the columns that travel",
    "read": "the columns that conditions and measures read",
    "measures": "the measures",
    "time": "the time",
}


def identity(
    fingerprint: str,
    text: str,
    timeouts: bool,
    buckets: Sequence[int],
    partition_by: Sequence[str],
    order_by: Sequence[str],
    columns: dict[str, str],
    measures: dict[str, str],
    time: str,
    read: dict[str, str],
) -> str:
    """The identity of a plan, as JSON text; `text` shows the pattern to people and is not compared."""
    return json.dumps(
        {
            "pattern": fingerprint,
            "text": text,
            "timeouts": timeouts,
            "buckets": list(buckets),
            "partition_by": list(partition_by),
            "order_by": list(order_by),
            "columns": columns,
            "measures": measures,
            "time": time,
            "read": read,
        }
    )


def refuse_difference(saved: str, given: str) -> None:
    """Refuse to go on with state that belongs to something else, and say what differs."""
    if saved == given:
        return
    before, now = json.loads(saved), json.loads(given)
    lines = []
    for field, name in _NAMES.items():
        if before.get(field) != now[field]:
            field = "text" if field == "pattern" else field
            lines.append(f"  {name}: was {_shown(before.get(field))}\n  {' ' * len(name)}   is {_shown(now[field])}")
    if lines:
        difference = "\n".join(lines)
        raise StateError(
            f"the checkpoint belongs to something else:\n{difference}\n"
            "  Go on with what it was written for; or begin anew with another checkpoint, and with the events that\n"
            "  still matter read again from the source."
        )


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {kind}" for name, kind in value.items()) or "none"
    if isinstance(value, list) and value and isinstance(value[0], int):
        return f"{len(value)} buckets ({', '.join(map(str, value))})"
    return str(value)
