"""Row patterns as JSON, and back.

In: a row pattern. Out: JSON text whose parts are those of the clause, expressions and the pattern as SQL. The way back
puts the clause together and reads it.
"""

from __future__ import annotations

import json
from typing import Any

from cepheid.conditions.printing import quoted
from cepheid.errors import MalformedPatternError
from cepheid.match_recognize.reading import read
from cepheid.rowpattern import printing
from cepheid.rowpattern.model import RowPattern

VERSION = 1
_PLACE = "row pattern as JSON"
_REMEDY = "Give what RowPattern.to_json wrote."


def to_json(pattern: RowPattern) -> str:
    """The row pattern as JSON text."""
    parts: dict[str, Any] = {
        "version": VERSION,
        "partition_by": [str(name) for name in pattern.partition_by],
        "order_by": [printing.sort(sort) for sort in pattern.order_by],
        "measures": [{"name": measure.name, "sql": str(measure.expression)} for measure in pattern.measures],
        "rows": pattern.rows.value,
        "skip": printing.skip(pattern.skip),
        "pattern": printing.node(pattern.pattern),
    }
    if pattern.within is not None:
        parts["within"] = printing.interval(pattern.within)
    parts["subset"] = {printing.variable(s.name): [printing.variable(m) for m in s.members] for s in pattern.subsets}
    parts["define"] = {printing.variable(define.variable): str(define.condition) for define in pattern.defines}
    return json.dumps({"row_pattern": parts}, indent=2, ensure_ascii=False)


def from_json(text: str) -> RowPattern:
    """The row pattern that `to_json` wrote."""
    try:
        parts = json.loads(text)["row_pattern"]
        if parts["version"] != VERSION:
            raise MalformedPatternError(_PLACE, f"version {parts['version']} is not known here", _REMEDY)
        clause = _clause(parts)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, MalformedPatternError):
            raise
        raise MalformedPatternError(_PLACE, f"it cannot be read: {error!r}", _REMEDY) from None
    return read(clause)


def _clause(parts: dict[str, Any]) -> str:
    measures = [f"{measure['sql']} AS {quoted(measure['name'])}" for measure in parts["measures"]]
    subsets = [f"{name} = ({', '.join(members)})" for name, members in parts["subset"].items()]
    defines = [f"{name} AS {condition}" for name, condition in parts["define"].items()]
    lists = {"PARTITION BY": parts["partition_by"], "ORDER BY": parts["order_by"], "MEASURES": measures}
    first = [f"{word} {', '.join(items)}" for word, items in lists.items() if items]
    within = f" WITHIN {parts['within']}" if "within" in parts else ""
    middle = [parts["rows"], f"AFTER MATCH SKIP {parts['skip']}", f"PATTERN ({parts['pattern']}){within}"]
    last = [f"{word} {', '.join(items)}" for word, items in (("SUBSET", subsets), ("DEFINE", defines)) if items]
    return "\n".join((*first, *middle, *last))
