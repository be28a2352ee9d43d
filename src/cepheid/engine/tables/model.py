"""What the kernel reads of a pattern: flat arrays, and what those who call it must know beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cepheid.automaton.fingerprint import fingerprint
from cepheid.automaton.model import Automaton
from cepheid.conditions import Predicate, Registers
from cepheid.conditions.expression import Expression, SparkExpression
from cepheid.engine.kernel import layout as l
from cepheid.engine.tables import compact

ALLOWED = l.NEVER
"""The moment at which a start was forbidden, of one that was not."""


class Arrays(NamedTuple):
    """The arrays themselves, in the form that the kernel takes."""

    params: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]
    ways: npt.NDArray[np.int64]
    sets: npt.NDArray[np.uint64]
    rivals: npt.NDArray[np.int64]
    rival_sets: npt.NDArray[np.uint64]
    guards: npt.NDArray[np.int64]
    lists: npt.NDArray[np.int64]
    programs: npt.NDArray[np.int64]
    code: npt.NDArray[np.int64]
    interest: npt.NDArray[np.uint64]
    concerned: npt.NDArray[np.uint64]
    """For each bit of each page, the positions that have it among their interest, as bits of words."""
    updates: npt.NDArray[np.int64]
    updates_of: npt.NDArray[np.int64]
    not_before: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tables:
    """A pattern for the kernel."""

    arrays: Arrays
    automaton: Automaton
    """Its predicates' own-event parts are the bits of the mask."""
    columns: tuple[Expression, ...]
    """Expressions over the event whose values the kernel reads."""
    initial: tuple[int, ...]
    known_at_first: int
    text_registers: tuple[int, ...]
    """The registers that hold codes of strings."""
    pages: tuple[tuple[int, ...], ...]
    """The predicates that each word of an event's bits holds, bit by bit (see `pages`)."""
    compact: compact.Decision
    """Whether partial matches with the same future are kept as one."""
    registers_read: npt.NDArray[np.uint64]
    """For each position, bits of the registers that a run there may still have read."""
    compared: tuple[int, ...] = ()
    """The columns that are read again of events taken before (rule 18)."""
    orders_texts: bool = False
    """Whether codes of strings go by the order of the strings."""
    taken_before: str | None = None
    """The fingerprint, if it was taken before conditions were reduced to their text, which holds names of variables."""
    max_state_bytes: int | None = None

    @property
    def fingerprint(self) -> str:
        """What saved state names the pattern by."""
        return self.taken_before or fingerprint(self.automaton)

    @property
    def forbids_single_starts(self) -> bool:
        """Whether what is forbidden must be noted start by start (`to_next`)."""
        return bool(self.arrays.params[l.P_SKIP] == l.TO_NEXT)

    @property
    def nots_before(self) -> int:
        """The number of negations at the start."""
        return int(self.arrays.params[l.P_NOT_BEFORE])

    def for_workers(self) -> Tables:
        """The same tables without what cannot travel to another process: conditions stay as their text."""
        predicates, having = _as_texts(self.automaton.predicates), _as_texts(self.automaton.having)
        automaton = replace(self.automaton, predicates=predicates, having=having, registers=Registers.laid_out(()))
        columns = tuple(SparkExpression("a value", (str(value),), type=value.type) for value in self.columns)
        return replace(self, automaton=automaton, columns=columns, taken_before=self.fingerprint)


def _as_texts(predicates: tuple[Predicate, ...]) -> tuple[Predicate, ...]:
    return tuple(Predicate(SparkExpression("condition", (str(one),)), one.place) for one in predicates)


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller may ask for beside the pattern itself."""

    timeouts: bool = False
    max_runs: int = 10_000_000
    max_matches_per_event: int = 1_000_000
    max_state_bytes: int | None = None
    """What partial matches, and matches not yet handed over, may take; None: a share of the memory (`limits`)."""
    dominance: bool = True
    computes_early: bool = False
    """Whether values that may fail are computed for all events that may need them: on Spark, where nobody can compute
    them later (see `programs`)."""
    compact: bool | None = None
    """Whether partial matches with the same future are kept as one: where it is sound and pays (None), wherever it is
    sound, or nowhere (see `compact`)."""
