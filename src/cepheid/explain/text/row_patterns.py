"""What a row pattern means and how it is run, as an `Explanation`.

In: a row pattern. Out: sections: the clause, each variable with where its condition is computed, the instructions, what
the search remembers, warnings. Called by the face.
"""

from __future__ import annotations

from cepheid.conditions.expression import TRUE
from cepheid.explain.text.document import Explanation, Record, Section
from cepheid.rowpattern import printing
from cepheid.rowpattern.binding import bind
from cepheid.rowpattern.instructions import compile_pattern
from cepheid.rowpattern.model import RowPattern
from cepheid.rowpattern.splitting import Remembers, SplitCondition, remembers, split_defines

_MOST_INSTRUCTIONS = 200
_MEMORY = {
    Remembers.PLACES: "Conditions read a row and its neighbours alone. A way that failed is not tried again, whatever "
    "row the match begins at: the cost of a partition is bounded by its rows times the instructions.",
    Remembers.PLACES_OF_START: "Conditions also read where the match begins. A way that failed is not tried again for "
    "the same first row: the cost of a match is bounded by its rows times the instructions.",
    Remembers.STATES: "Conditions read rows or aggregates by label. A way is not tried again where these are the same.",
    Remembers.NOTHING: "Conditions read labels themselves. Every way is tried.",
}


def explain(pattern: RowPattern) -> Explanation:
    """The explanation of a row pattern."""
    bound = bind(pattern, None)
    split = split_defines(bound)
    program = compile_pattern(pattern.pattern, pattern.variables)
    memory = remembers(split.values(), pattern.within is not None)
    listed = str(program).splitlines()
    shown = (*listed[:_MOST_INSTRUCTIONS], *["…"] * (len(listed) > _MOST_INSTRUCTIONS))
    sections = [
        Section("Clause", lines=tuple(str(pattern).splitlines())),
        Section("Variables", records=tuple(_variable(name, split.get(name)) for name in pattern.variables)),
        Section("Search", sentences=(_MEMORY[memory],)),
        Section("Instructions", lines=tuple(shown)),
    ]
    warnings = _warnings(pattern, memory)
    if warnings:
        sections.append(Section("Warnings", sentences=warnings, warns=True))
    return Explanation(f"PATTERN ({printing.node(pattern.pattern)})", tuple(sections))


def _variable(name: str, condition: SplitCondition | None) -> Record:
    if condition is None:
        return Record(name, (("condition", "none: every row"),))
    parts = (
        ("the row alone, by Spark", condition.own),
        ("with its neighbours, on whole columns", condition.near),
        ("while matching", condition.rest),
    )
    return Record(name, tuple((how, str(part)) for how, part in parts if part != TRUE) or (("condition", "TRUE"),))


def _warnings(pattern: RowPattern, memory: Remembers) -> tuple[str, ...]:
    warnings = []
    if not pattern.partition_by:
        warnings.append("Without PARTITION BY all rows are one partition, and nothing is parallel.")
    if not pattern.order_by:
        warnings.append("Without ORDER BY the rows of a DataFrame have no defined order.")
    if memory in (Remembers.NOTHING, Remembers.STATES):
        warnings.append(
            "Where several labels fit the same rows, the search may take exponentially many steps; it stops at "
            "max_steps with an error. Conditions that exclude each other prevent that."
        )
    return tuple(warnings)
