"""What a pattern means, as a short text: equal for patterns that differ only in the names of variables and folds.

In: an automaton. Out: a fingerprint, which saved state carries so that it is never given to another pattern.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from cepheid.automaton.model import Automaton
from cepheid.conditions.expression import Aggregate, Expression, FoldValue, with_children
from cepheid.conditions.registers import Register


def fingerprint(automaton: Automaton) -> str:
    """A hash of everything but names of variables and folds. Conditions that are Python callables or Columns have no
    such text."""
    registers = automaton.registers.registers
    names = _Names({name: f"v{number}" for number, name in enumerate(automaton.variables)}, {})
    for number, register in enumerate(registers):
        if register.fold is not None:
            names.folds[register.variable, register.fold.name] = f"fold {number}"
    skip = automaton.skip
    parts = [
        repr([str(_renamed(predicate.expression, names)) for predicate in automaton.predicates]),
        repr([str(_renamed(predicate.expression, names)) for predicate in automaton.having]),
        repr([_register(register, names) for register in registers]),
        repr(automaton.positions),
        repr(replace(skip, target=None if skip.target is None else names.variables[skip.target])),
        repr((automaton.window, automaton.once_per)),
        repr(automaton.not_before),
        repr([name in automaton.looping for name in automaton.variables]),
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class _Names:
    """What variables and folds are called here."""

    variables: dict[str, str]
    folds: dict[tuple[str, str], str]


def _register(register: Register, names: _Names) -> list[str]:
    argument = None if register.argument is None else _renamed(register.argument, names)
    said = [register.kind.name, names.variables[register.variable], register.depth, register.type, argument]
    return [*map(str, said), "" if register.fold is None else str(register.fold.init)]


def _renamed(expression: Expression, names: _Names) -> Expression:
    match expression:
        case Aggregate(variable=variable):
            return replace(expression, variable=names.variables[variable])
        case FoldValue(variable=variable, name=name):
            return replace(expression, variable=names.variables[variable], name=names.folds[variable, name])
    return with_children(expression, lambda child: _renamed(child, names))
