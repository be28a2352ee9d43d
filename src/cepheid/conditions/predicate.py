"""A bound condition, and its split into what Spark evaluates and what the run must.

Made by `binding`; read by the automaton, the evaluators and the Spark plans.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cepheid.conditions.expression import (
    TRUE,
    Aggregate,
    Expression,
    FoldValue,
    Operator,
    PythonCall,
    combine,
    conjuncts,
    walk,
)


@dataclass(frozen=True, slots=True)
class Predicate:
    """What an element asks of an event. Equal if it means the same, wherever it was written.

    `own_event` is the conjunction, in order, of the parts that read the current event only: one expression, since a
    part may guard the next against a division by zero. `rest` is what reads variables, None if there is nothing; it
    may be evaluated only where `own_event` holds, which guards it in the same way.
    """

    expression: Expression
    place: str = field(default="condition", compare=False)
    """How an error calls the element it was first written for."""
    own_event: Expression = field(init=False, compare=False, repr=False)
    rest: Expression | None = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        own: list[Expression] = []
        rest: list[Expression] = []
        for part in conjuncts(self.expression):
            (rest if reads_variables(part) else own).append(part)
        object.__setattr__(self, "own_event", combine(Operator.AND, tuple(own)) if own else TRUE)
        object.__setattr__(self, "rest", combine(Operator.AND, tuple(rest)) if rest else None)

    @property
    def is_always_true(self) -> bool:
        return self.expression == TRUE

    @property
    def reads_variables(self) -> bool:
        return self.rest is not None

    @property
    def calls_python(self) -> bool:
        """A callable takes the slow path, and sees every column."""
        return any(isinstance(node, PythonCall) for node in walk(self.expression))

    def __str__(self) -> str:
        return str(self.expression)


def reads_variables(expression: Expression) -> bool:
    """Whether the value depends on what the run has taken."""
    return any(isinstance(node, Aggregate | FoldValue | PythonCall) for node in walk(expression))
