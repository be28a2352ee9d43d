"""Row pattern → text that reads back to the same one.

Called by `str` of a row pattern and by whoever shows a part of one.
"""

from __future__ import annotations

import re
from datetime import timedelta

from cepheid.conditions.printing import quoted
from cepheid.rowpattern.model import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    Node,
    PartitionEnd,
    PartitionStart,
    Permute,
    Quantified,
    RowPattern,
    Skip,
    Sort,
    Variable,
)

_ALTERNATION, _CONCATENATION, _QUANTIFIED, _PRIMARY = range(4)
_FOLDED = re.compile(r"[A-Z_][A-Z0-9_]*\Z")
_SIGNS = {(0, None): "*", (1, None): "+", (0, 1): "?"}


def clause(pattern: RowPattern) -> str:
    """The clause, a line for each part; what is a default is left out, but for what is often misremembered."""
    parts = [
        _list("PARTITION BY", [str(name) for name in pattern.partition_by]),
        _list("ORDER BY", [sort(each) for each in pattern.order_by]),
        _list("MEASURES", [f"{measure.expression} AS {quoted(measure.name)}" for measure in pattern.measures]),
        pattern.rows.value,
        f"AFTER MATCH SKIP {skip(pattern.skip)}",
        f"PATTERN ({node(pattern.pattern)})"
        + ("" if pattern.within is None else f" WITHIN {interval(pattern.within)}"),
        _list("SUBSET", [f"{variable(s.name)} = ({', '.join(map(variable, s.members))})" for s in pattern.subsets]),
        _list("DEFINE", [f"{variable(define.variable)} AS {define.condition}" for define in pattern.defines]),
    ]
    return "\n".join(part for part in parts if part)


def _list(keyword: str, items: list[str]) -> str:
    return f"{keyword} {', '.join(items)}" if items else ""


def variable(name: str) -> str:
    """A variable's name; one that folding would change is quoted (rule 1.3)."""
    return name if _FOLDED.match(name) and name != "PERMUTE" else '"' + name.replace('"', '""') + '"'


def skip(skip: Skip) -> str:
    """Where AFTER MATCH SKIP goes."""
    return skip.to.value + ("" if skip.variable is None else f" {variable(skip.variable)}")


def sort(sort: Sort) -> str:
    """A column of ORDER BY."""
    direction = " DESC" if sort.descending else ""
    nulls = "" if sort.nulls_first != sort.descending else f" NULLS {'FIRST' if sort.nulls_first else 'LAST'}"
    return f"{sort.column}{direction}{nulls}"


def interval(span: timedelta) -> str:
    """A length of time."""
    microseconds = span // timedelta(microseconds=1)
    seconds, fraction = divmod(microseconds, 1_000_000)
    clock = f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}" + (
        f".{fraction:06}" if fraction else ""
    )
    return f"INTERVAL '{seconds // 86_400} {clock}' DAY TO SECOND"


def node(part: Node) -> str:
    """A part of a pattern."""
    return _write(part, _ALTERNATION)


def _write(part: Node, least: int) -> str:
    text, binds = _text(part)
    return f"({text})" if binds < least else text


def _text(part: Node) -> tuple[str, int]:
    match part:
        case Variable(name):
            return variable(name), _PRIMARY
        case Empty():
            return "()", _PRIMARY
        case PartitionStart():
            return "^", _PRIMARY
        case PartitionEnd():
            return "$", _PRIMARY
        case Concatenation(parts):
            return " ".join(_write(each, _QUANTIFIED) for each in parts), _CONCATENATION
        case Alternation(parts):
            return " | ".join(_write(each, _CONCATENATION) for each in parts), _ALTERNATION
        case Permute(parts):
            return f"PERMUTE({', '.join(node(each) for each in parts)})", _PRIMARY
        case Exclusion(body):
            return f"{{- {node(body)} -}}", _PRIMARY
        case Quantified(body, least, most, greedy):
            return f"{_write(body, _PRIMARY)}{_quantifier(least, most)}{'' if greedy else '?'}", _QUANTIFIED


def _quantifier(least: int, most: int | None) -> str:
    sign = _SIGNS.get((least, most))
    if sign is not None:
        return sign
    if least == most:
        return f"{{{least}}}"
    return f"{{{least},{'' if most is None else most}}}"
