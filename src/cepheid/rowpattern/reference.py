"""The literal evaluator of row patterns: the oracle of the engine's tests, and the slow way where the engine has none.

In: a bound row pattern and the rows of one partition, in order. Out: the rows of the result (rule 6).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cepheid.errors import EvaluationError
from cepheid.rowpattern.binding import BoundRowPattern
from cepheid.rowpattern.evaluation import Row, View, compiled
from cepheid.rowpattern.model import RowsPerMatch
from cepheid.rowpattern.search import Match, Unmatched, scan

MAX_STEPS = 1_000_000
"""How often the search for one match may go back, if nothing else is said."""


class Reference:
    """Runs one row pattern, partition by partition."""

    def __init__(self, bound: BoundRowPattern, max_steps: int = MAX_STEPS) -> None:
        pattern = bound.pattern
        self._bound = bound
        self._max_steps = max_steps
        self._members = {
            name: frozenset(pattern.members(name))
            for name in (*pattern.variables, *(subset.name for subset in pattern.subsets))
        }
        self._defines = {variable: compiled(condition) for variable, condition in bound.defines.items()}
        self._measures = [compiled(measure.expression) for measure in bound.measures]

    def found(self, rows: Sequence[Row]) -> Iterator[Match | Unmatched]:
        """The matches of a partition and the rows that begin none, in the order of the scan."""
        time = self._bound.order_names[0] if self._bound.pattern.within is not None else None

        def may_be(number: int, first: int, row: int, labels: list[str]) -> bool:
            if time is not None and not rows[row][time] - rows[first][time] < self._bound.pattern.within:
                return False
            condition = self._defines.get(labels[-1])
            if condition is None:  # rule 1.4
                return True
            try:
                # rule 3.1: not FALSE, not NULL
                return condition(View(rows, first, labels, row, number, self._members)) is True
            except EvaluationError as error:
                raise EvaluationError(f"DEFINE {labels[-1]}: {error}\n  on: {dict(rows[row])}") from error

        return scan(self._bound.pattern, len(rows), may_be, self._max_steps)

    def result(self, rows: Sequence[Row]) -> Iterator[tuple[Any, ...]]:
        """The rows of the result for one partition, columns in the order of rule 6.1."""
        mode = self._bound.pattern.rows
        for found in self.found(rows):
            if isinstance(found, Unmatched):
                if mode is RowsPerMatch.ALL_WITH_UNMATCHED:  # rule 6.6: every measure is NULL
                    yield self._row(rows[found.row], [None] * len(self._measures))
            elif mode is RowsPerMatch.ONE:
                last = found.first + len(found.labels) - 1
                yield self._row(rows[found.first], self._measured(rows, found, last))
            elif found.labels:
                for place, is_excluded in enumerate(found.excluded):
                    if not is_excluded:
                        row = found.first + place
                        yield self._row(rows[row], self._measured(rows, found, row))
            elif mode is not RowsPerMatch.ALL_OMIT_EMPTY:  # rule 6.4
                yield self._row(rows[found.first], self._measured(rows, found, found.first - 1))

    def _measured(self, rows: Sequence[Row], match: Match, current: int) -> list[Any]:
        view = View(rows, match.first, match.labels, current, match.number, self._members)
        return [measure(view) for measure in self._measures]

    def _row(self, row: Row, measured: list[Any]) -> tuple[Any, ...]:
        shown = [row.get(name) for name in self._bound.input_columns]
        before = self._bound.columns_before_measures
        return (*shown[:before], *measured, *shown[before:])
