"""The measures of a set's rules in one result: a map from name to text.

Each rule has aggregates of its own, with types of their own. In the result of the workers there are a few columns of
each type (*slots*), as many as the rule with the most has; Spark computes a rule's measures from its slots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql.types import DataType, StructField

from cepheid.spark.output import Output
from cepheid.spark.rules.row_rules import RowOutput

_NONE = "CAST(map() AS MAP<STRING, STRING>)"


class Slots:
    """The columns that hold aggregates."""

    def __init__(self, outputs: Sequence[Output | RowOutput]) -> None:
        self._types: dict[str, DataType] = {}
        most: dict[str, int] = {}
        for output in outputs:
            counts: dict[str, int] = {}
            for _, kind in output.aggregates:
                text = kind.simpleString()
                self._types[text] = kind
                counts[text] = counts.get(text, 0) + 1
            for text, count in counts.items():
                most[text] = max(most.get(text, 0), count)
        self._names = {text: [_name(number, slot) for slot in range(most[text])] for number, text in enumerate(most)}

    def fields(self) -> list[StructField]:
        """The columns."""
        return [StructField(name, self._types[text]) for text, names in self._names.items() for name in names]

    def has(self, name: str) -> bool:
        """Whether a column is a slot."""
        return any(name in names for names in self._names.values())

    def renamed(self, output: Output | RowOutput) -> tuple[tuple[str, str], ...]:
        """The columns of a rule's summaries, and the slots that they go to."""
        slots = self._slots(output)
        return tuple((f"__aggregate_{i}", slots[aggregate]) for i, (aggregate, _) in enumerate(output.aggregates))

    def measures(self, outputs: Mapping[str, Output] | Mapping[str, Output | RowOutput]) -> str:
        """The SQL text of the measures of all rules."""
        cases = []
        for rule, output in outputs.items():
            if not output.measures:
                continue
            slots = self._slots(output)
            entries = ", ".join(
                f"{_text(measure.name)}, CAST(({measure.sql(slots.__getitem__)}) AS STRING)"
                for measure in output.measures
            )
            cases.append(f"WHEN {_text(rule)} THEN map({entries})")
        return f"CASE `rule` {' '.join(cases)} ELSE {_NONE} END" if cases else _NONE

    def _slots(self, output: Output | RowOutput) -> dict[Any, str]:
        used: dict[str, int] = {}
        found = {}
        for aggregate, kind in output.aggregates:
            text = kind.simpleString()
            found[aggregate] = self._names[text][used.get(text, 0)]
            used[text] = used.get(text, 0) + 1
        return found


def _name(kind: int, slot: int) -> str:
    return f"__aggregate_{kind}_{slot}"


def _text(name: str) -> str:
    """A name as a constant of SQL."""
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
