"""One try: a pattern text on a sample, with everything that the page shows.

In: a `Sample` and a `Request`. Out: an `Answer` as plain data: an error with its caret, or matches, diagram, timeline,
why and copies. Nothing here knows of the server.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any

from cepheid.errors import CepheidError, InputError
from cepheid.explain.results import to_html
from cepheid.pattern import Pattern
from cepheid.row_pattern import RowPattern
from cepheid.rows.in_memory import listed
from cepheid.studio.copies import Taken, copies
from cepheid.studio.sample import Sample

SHOWN = 100
"""Matches that the page lists."""
_FOLLOWED, _PANELS = 400, 3
"""Rows whose runs are followed, and partitions on the timeline: an answer must come while one types."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the page asks for."""

    text: str
    partition_by: list[str] = field(default_factory=list)
    order_by: list[str] = field(default_factory=list)
    type_column: str = ""

    @classmethod
    def of(cls, given: Any) -> Request:
        """The request in what a page sent."""
        if not isinstance(given, dict) or not isinstance(given.get("text"), str):
            raise InputError("the request has no text.")

        def names(key: str) -> list[str]:
            found = given.get(key, [])
            if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
                raise InputError(f"{key} is not a list of names.")
            return found

        return cls(given["text"], names("partition_by"), names("order_by"), str(given.get("type_column") or ""))


def attempt(sample: Sample, request: Request) -> dict[str, Any]:
    """Everything that the page shows, or what is wrong."""
    begun = time.perf_counter()
    try:
        answer = _row_pattern(sample, request) if _is_clause(request.text) else _pattern(sample, request)
    except CepheidError as error:
        answer = {"error": str(error)}
    answer["milliseconds"] = round((time.perf_counter() - begun) * 1000)
    return answer


def _pattern(sample: Sample, request: Request) -> dict[str, Any]:
    text = request.text
    if not text.strip():
        raise InputError("write a pattern: a[kind = 'A'] ~> b[kind = 'B'] within 10 minutes")
    if text.lstrip().startswith("{"):
        pattern = Pattern.from_json(text)
    else:
        pattern = Pattern.parse(text, type_column=request.type_column or None).check()
    diagram = str(pattern.diagram())
    try:
        found = pattern.match_events(sample.rows, partition_by=request.partition_by or None, order_by=request.order_by)
    except CepheidError as error:  # the pattern is right, but not for these rows
        return {"error": str(error), "diagram": diagram}
    why = found.why(most_rows=_FOLLOWED)
    funnel = found.funnel(most_rows=_FOLLOWED)
    timeline = found.timeline(_PANELS, most_rows=_FOLLOWED)._repr_html_() if request.order_by else ""
    return {
        "count": len(found),
        "matches": _table(found.matches_table, len(found)),
        "diagram": str(funnel.diagram()),
        "funnel": funnel.svg,
        "timeline": timeline,
        "why": why._repr_html_(),
        "cause": "" if found or not why.reasons else str(why.reasons[0]),
        "notation": str(pattern),
        "copies": copies(Taken(text, request.partition_by, request.order_by, request.type_column, sample)),
    }


def _row_pattern(sample: Sample, request: Request) -> dict[str, Any]:
    text = _inside(request.text)
    pattern = RowPattern.parse(text)
    found = pattern.match_events(sample.rows)
    number = found.matches_table.num_rows
    return {
        "count": number,
        "matches": _table(found.matches_table, number),
        "diagram": str(pattern.diagram()),
        "notation": str(pattern),
        "copies": copies(Taken(text, [], [], "", sample, is_clause=True)),
    }


def _table(matches: Any, number: int) -> str:
    rows = listed(matches.slice(0, SHOWN), "matches_table")
    more = f"the first {SHOWN} of {number:,}" if number > SHOWN else ""
    return to_html(matches.column_names, rows, f"{number:,} {'row' if number == 1 else 'rows'}", more)


def _is_clause(text: str) -> bool:
    """Whether this is a MATCH_RECOGNIZE clause: only that has PATTERN ( … )."""
    return re.search(r"^\s*MATCH_RECOGNIZE\b|\bPATTERN\s*\(", text, re.I) is not None


def _inside(text: str) -> str:
    """What is between the parentheses of MATCH_RECOGNIZE."""
    stripped = text.strip()
    if stripped.upper().startswith("MATCH_RECOGNIZE") and stripped.endswith(")"):
        return stripped[stripped.index("(") + 1 : -1]
    return text
