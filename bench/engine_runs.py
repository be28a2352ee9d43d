"""What the engine's own benchmarks share: a pattern for the kernel, a clock inside it, the reference's answer.

Called by the sections that measure the engine without Spark.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import pairwise
from types import TracebackType
from typing import Any

import pyarrow as pa

from cepheid import Pattern
from cepheid.automaton.construction import build
from cepheid.conditions import Schema, bind
from cepheid.engine.assignments import Assignments
from cepheid.engine.kernel.entrances import Entrance
from cepheid.engine.tables.model import Options, Tables
from cepheid.engine.tables.tabulate import tabulate
from cepheid.reference.online import OnlineEvaluator
from cepheid.rows.arrange import Arranged

CHECKED = 20_000
"""Up to so many events, answers are compared with those of the reference."""


@dataclass
class KernelClock:
    """Counts the CPU seconds inside the kernel, without the Python code that drives it, while it is entered."""

    seconds: float = 0.0
    _original: Any = field(default=None, repr=False)

    def __enter__(self) -> KernelClock:
        original = self._original = Entrance.__call__

        def clocked(entrance: Entrance, *arguments: Any) -> Any:
            begun = time.process_time()
            result = original(entrance, *arguments)
            self.seconds += time.process_time() - begun
            return result

        Entrance.__call__ = clocked  # type: ignore[method-assign]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Entrance.__call__ = self._original  # type: ignore[method-assign]


def tables_of(pattern: Pattern, schema: pa.Schema, options: Options | None = None) -> Tables:
    """A pattern for the kernel."""
    tree = pattern.check().tree
    return tabulate(build(tree, bind(tree, Schema.from_arrow(schema))), options or Options())


def is_as_reference(tables: Tables, events: Arranged, found: Assignments) -> bool | None:
    """Whether matches are those of the reference evaluator; None where that would take too long."""
    if len(events.time) > CHECKED:
        return None
    variables = tables.automaton.variables
    answer: list[list[tuple[int, str]]] = [[] for _ in found.at]
    for match, variable, row in zip(found.match, found.variable, found.row, strict=True):
        answer[match].append((int(row), variables[variable]))
    rows, times, expected = events.table.to_pylist(), events.time.tolist(), []
    for begin, end in pairwise(events.bounds.tolist()):
        evaluator = OnlineEvaluator(tables.automaton)
        for row in range(begin, end):
            evaluator.handle(rows[row], times[row])
        evaluator.end_of_input()
        expected += [[(begin + index, name) for index, name in match.taken] for match in evaluator.matches]
    return answer == expected
