"""Matches as a table for people: text for a terminal, HTML for a notebook.

In: the names of the columns and some rows as dicts. Out: text. An event is shown by its values, several events by their
number and the first of them. Used by what `match_events` and `match` return.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any

from cepheid.explain.diagram.lettering import cells

FEW = 10
"""Rows that a notebook shows."""
_BROAD, _BROADEST, _ID = 40, 300, 9
_STYLE = (
    ".cepheid-found table{border-collapse:collapse;font-size:0.9em}.cepheid-found th,.cepheid-found td"
    "{text-align:left;vertical-align:top;padding:2px 10px 2px 0;border-bottom:1px solid rgba(128,128,128,.3)}"
    ".cepheid-found p{margin:4px 0}"
)


def to_text(names: Sequence[str], rows: Sequence[Mapping[str, Any]], whole: bool = False) -> str:
    """A table with a line for each row; cells are cut unless `whole`."""
    broad = dict.fromkeys(names, 10 * _BROADEST if whole else _BROAD)
    if not whole and "match_id" in broad:
        broad["match_id"] = _ID
    lines = [list(names), *([_cut(shown(row[name]), broad[name]) for name in names] for row in rows)]
    widths = [max(cells(line[place]) for line in lines) for place in range(len(names))]
    written = ["  ".join(_filled(text, width) for text, width in zip(line, widths, strict=True)) for line in lines]
    rule = "  ".join("─" * width for width in widths)
    return "\n".join(line.rstrip() for line in (written[0], rule, *written[1:]))


def to_html(names: Sequence[str], rows: Sequence[Mapping[str, Any]], head: str, more: str = "") -> str:
    """A table with a sentence above it, and one below where there is more."""
    header = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cut(shown(row[name]), _BROADEST))}</td>" for name in names) + "</tr>"
        for row in rows
    )
    table = f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    below = f"<p>{escape(more)}</p>" if more else ""
    return f'<div class="cepheid-found"><style>{_STYLE}</style><p>{escape(head)}</p>{table}{below}</div>'


def shown(value: Any) -> str:
    """One cell."""
    if value is None:
        return "–"
    if isinstance(value, datetime):
        return str(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {shown(inner)}" for name, inner in value.items())
    if hasattr(value, "asDict"):  # a row of Spark's
        return shown(value.asDict())
    if isinstance(value, list | tuple) and value and _is_event(value[0]):
        return f"{len(value)}: " + " | ".join(map(shown, value))
    return str(value)


def counted(number: int, names: Sequence[str]) -> str:
    """`1 match`, `2 matches`; `3 events of matches` where each has a row."""
    if "sequence" in names and "variable" in names:
        return f"{number:,} event{'' if number == 1 else 's'} of matches"
    return f"{number:,} match{'' if number == 1 else 'es'}"


def _is_event(value: Any) -> bool:
    return isinstance(value, Mapping) or hasattr(value, "asDict")


def _cut(text: str, broad: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= broad else f"{line[: broad - 1]}…"


def _filled(text: str, width: int) -> str:
    return text + " " * (width - cells(text))
