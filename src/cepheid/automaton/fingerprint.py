"""What a pattern means, as a short text: equal for patterns that differ only in the names of their variables.

In: an automaton. Out: a fingerprint, which saved state carries so that it is never given to another pattern.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from cepheid.automaton.model import Automaton
from cepheid.conditions.expression import Aggregate, Expression, FoldValue, with_children


def fingerprint(automaton: Automaton) -> str:
    """A hash of everything but names of variables. Conditions that are Python callables or Columns have no such
    text."""
    names = {name: f"v{number}" for number, name in enumerate(automaton.variables)}
    skip = automaton.skip
    parts = [
        *(str(_renamed(predicate.expression, names)) for predicate in automaton.predicates),
        *(
            f"{register.kind} {names[register.variable]} {register.depth} {register.type} {register.argument}"
            for register in automaton.registers.registers
        ),
        repr(automaton.positions),
        repr(replace(skip, target=None if skip.target is None else names[skip.target])),
        repr(automaton.window),
        repr(automaton.not_before),
        repr([name in automaton.looping for name in automaton.variables]),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _renamed(expression: Expression, names: dict[str, str]) -> Expression:
    match expression:
        case Aggregate(variable=variable) | FoldValue(variable=variable):
            return replace(expression, variable=names[variable])
    return with_children(expression, lambda child: _renamed(child, names))
