"""Conditions that no row satisfies: what in the data says why.

In: an element's counts, its condition, and the values that a column takes. Out: a `Reason`: a literal that occurs only
in another case or with blanks, a value that never occurs, a column that is NULL, a limit that nothing reaches, parts
that are never true together. Called by `causes`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions.expression import (
    COMPARISONS,
    Call,
    Column,
    Expression,
    Literal,
    Operation,
    walk,
    with_children,
)
from cepheid.conditions.predicate import reads_variables
from cepheid.conditions.registers import NOTHING_TAKEN
from cepheid.explain.why.counting import Asked
from cepheid.explain.why.model import ElementCount, Kind, PartCount, Reason, Role
from cepheid.explain.why.nearness import holds, literal_of, part_text, parts_of, shown_value

Values: TypeAlias = Callable[[str], Sequence[tuple[Any, int]]]
"""The values of a column with their counts, the most frequent first; not more than some."""
MOST_VALUES = 1_000


def values_in(table: pa.Table) -> Values:
    """The values of the columns of a table."""

    def values(name: str) -> list[tuple[Any, int]]:
        try:
            counted = pc.value_counts(table[name].combine_chunks())
        except (pa.ArrowException, KeyError):
            return []
        order = pc.sort_indices(counted.field("counts"), sort_keys=[("", "descending")])[:MOST_VALUES]
        kept = counted.take(order)
        return list(zip(kept.field("values").to_pylist(), kept.field("counts").to_pylist(), strict=True))

    return values


def never_satisfied(asked: Asked, counts: ElementCount, rows: int, values: Values) -> Reason:
    """Why no row satisfies what an element asks of a row alone."""
    own = [
        (part, count)
        for part, count in zip(parts_of(asked.predicate), counts.parts, strict=True)
        if count.satisfied is not None
    ]
    never = [(part, count) for part, count in own if not count.satisfied]
    name = _called(counts)
    if not never:
        together = " AND ".join(count.text for _, count in own)
        each = ", ".join(f"{count.text} on {count.satisfied:,}" for _, count in own)
        text = (
            f"No row satisfies all that {name} asks: {together}. Each part is true on some rows ({each}), never on one."
        )
        return Reason(Kind.NEVER_TOGETHER, text, "Is one part meant for another element?", counts.name)
    reasons = [_never(part, count, name, counts.name, rows, values) for part, count in never]
    return min(reasons, key=lambda reason: _TELLING.index(reason.kind))


_TELLING = [Kind.CASE, Kind.NULL, Kind.VALUE, Kind.NEVER]
"""The kinds of `_never`, the most telling first."""


def other_spellings(asked: Asked, counts: ElementCount, values: Values) -> Iterator[Reason]:
    """Literals that also occur, or only occur, in another case or with blanks."""
    for part in parts_of(asked.predicate):
        if reads_variables(part) or (found := literal_of(part)) is None:
            continue
        column, literals = found
        for literal in literals:
            near = _spelt_otherwise(literal, values(column.name))
            if near:
                yield _case(part, _called(counts), counts.name, part_text(column), literal, near)


def _never(part: Expression, count: PartCount, name: str, element: str, rows: int, values: Values) -> Reason:
    text = f"{name} asks for {count.text}, which no row satisfies"
    if isinstance(part, Operation) and part.operator in COMPARISONS and _has_null(part):
        return Reason(
            Kind.NULL, f"{text}: a comparison with NULL is never true.", "Write IS NULL or IS NOT NULL.", element
        )
    columns = {node.name: part_text(node) for node in walk(part) if isinstance(node, Column)}
    if count.unknown == rows and columns:
        which = " or ".join(columns.values())
        return Reason(Kind.NULL, f"{text}: {which} is NULL on every row.", "Is the column filled?", element)
    found = literal_of(part)
    if found is not None:
        column, literals = found
        present = values(column.name)
        for literal in literals:
            near = _spelt_otherwise(literal, present)
            if near:
                return _case(part, name, element, part_text(column), literal, near)
        return Reason(
            Kind.VALUE, f"{text}: {part_text(column)} {_takes(present)}.", _did_you_mean(literals, present), element
        )
    if columns and count.unknown > rows / 2:
        which = " or ".join(columns.values())
        return Reason(Kind.NULL, f"{text}: {which} is NULL on {count.unknown:,} of {rows:,} rows.", "", element)
    remedy = ""
    if len(columns) == 1:
        [(column_name, called)] = columns.items()
        present = values(column_name)
        near = _fitting(part, column_name, present, str.lower, str.lower)
        if near:
            problem = f"{name} asks for {count.text}, but {called} has {_occurs(near)}: case counts."
            return Reason(Kind.CASE, problem, f"Compare LOWER({called}).", element)
        if isinstance(part, Call) and part.name == "LIKE" and _fitting(part, column_name, present, str, "%{}%".format):
            remedy = "LIKE asks for the whole text: write % where anything may be."
    reach = "; ".join(filter(None, (_reach(called, values(name)) for name, called in columns.items())))
    return Reason(Kind.NEVER, f"{text}{f': {reach}' if reach else ''}.", remedy, element)


def _fitting(
    part: Expression,
    column: str,
    present: Sequence[tuple[Any, int]],
    of_value: Callable[[str], str],
    of_literal: Callable[[str], str],
) -> list[tuple[Any, int]]:
    """The texts on which a part would be true if they, and the texts that it asks for, were written otherwise."""

    def changed(node: Expression) -> Expression:
        if isinstance(node, Literal) and isinstance(node.value, str):
            return Literal(of_literal(node.value), type=node.type)
        return with_children(node, changed)

    loose = changed(part)
    return [
        (value, count)
        for value, count in present
        if isinstance(value, str) and holds(loose, {column: of_value(value)}, NOTHING_TAKEN)
    ]


def _occurs(near: Sequence[tuple[Any, int]]) -> str:
    return " and ".join(f"{value!r} on {count:,} row{'' if count == 1 else 's'}" for value, count in near[:3])


def _case(
    part: Expression, name: str, element: str, column: str, literal: Any, near: Sequence[tuple[Any, int]]
) -> Reason:
    text = f"{name} asks for {part_text(part)}, but {column} has {_occurs(near)}: case and spaces count."
    return Reason(Kind.CASE, text, f"Write {near[0][0]!r}, or compare LOWER(TRIM({column})).", element)


def _spelt_otherwise(literal: Any, present: Sequence[tuple[Any, int]]) -> list[tuple[Any, int]]:
    """The values that are the literal but for case and blanks."""
    if not isinstance(literal, str):
        return []
    folded = _folded(literal)
    return [
        (value, n) for value, n in present if isinstance(value, str) and value != literal and _folded(value) == folded
    ]


def _folded(text: str) -> str:
    return "".join(text.split()).casefold()


def _did_you_mean(literals: Sequence[Any], present: Sequence[tuple[Any, int]]) -> str:
    texts = [value for value, _ in present if isinstance(value, str)]
    for literal in literals:
        near = difflib.get_close_matches(str(literal), texts, n=1, cutoff=0.6)
        if near:
            return f"Did you mean {near[0]!r}?"
    return ""


def _takes(present: Sequence[tuple[Any, int]]) -> str:
    known = [value for value, _ in present if value is not None]
    if not known:
        return "is NULL on every row"
    few = ", ".join(shown_value(value) for value in known[:6])
    return f"takes {len(known)} values: {few}" + (", …" if len(known) > 6 else "")


def _reach(column: str, present: Sequence[tuple[Any, int]]) -> str:
    known = [value for value, _ in present if value is not None and not isinstance(value, str | bool | list | dict)]
    if not known or len({type(value) for value in known}) > 1:
        return "" if known else f"{column} {_takes(present)}" if present else ""
    return f"{column} is between {shown_value(min(known))} and {shown_value(max(known))}"


def _has_null(part: Operation) -> bool:
    return any(isinstance(node, Literal) and node.value is None for node in walk(part))


def _called(counts: ElementCount) -> str:
    """`b`, or `not 'b'`."""
    words = {Role.ELEMENT: "", Role.NOT: "not ", Role.NOT_BEFORE: "not_before ", Role.UNTIL: "the until of "}
    return f"{words[counts.role]}{counts.name!r}"
