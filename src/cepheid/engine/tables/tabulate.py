"""An automaton as flat arrays: what the kernel reads of a pattern.

In: an automaton. Out: `Tables`, or `NotCompiled` with the reason why the pattern must take the reference's way.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.automaton.model import Automaton, Continuation, Ending, Position, Take
from cepheid.conditions.expression import TRUE, Expression
from cepheid.engine.kernel import layout as l
from cepheid.engine.tables import compact, dominance
from cepheid.engine.tables.interest import (
    asked,
    asked_at_end,
    concerned,
    interest,
    looks_at_the_next,
    takes,
    with_rivals,
)
from cepheid.engine.tables.model import Arrays, Options, Tables
from cepheid.engine.tables.pages import pages
from cepheid.engine.tables.programs import Compiler
from cepheid.engine.tables.representation import NotCompiled
from cepheid.syntax.tree import Contiguity, EventCount, NotLink, SkipKind, Span

MAXIMUM_CONTINUATIONS = 31
MAXIMUM_VARIABLES = l.VARIABLE
MAXIMUM_HAVINGS = 30
_KINDS = {Contiguity.STRICT: l.STRICT, Contiguity.RELAXED: l.RELAXED, Contiguity.NON_DETERMINISTIC: l.ANY}
_SKIPS = {
    SkipKind.NO_SKIP: l.NO_SKIP,
    SkipKind.TO_NEXT: l.TO_NEXT,
    SkipKind.PAST_LAST_EVENT: l.PAST_LAST,
    SkipKind.TO_FIRST: l.TO_FIRST,
    SkipKind.TO_LAST: l.TO_LAST,
}


def tabulate(automaton: Automaton, options: Options) -> Tables:
    """The tables of a pattern."""
    return _Tabulation(automaton, options).tables()


def _own_event(automaton: Automaton) -> dict[str, Expression]:
    """By variable, what its events satisfy by themselves; nothing of a variable that several conditions take."""
    found: dict[str, Expression] = {}
    for position in automaton.positions:
        for take in (*(way.take for way in position.continuations), *position.rivals):
            name, own = automaton.variables[take.variable], automaton.predicates[take.predicate].own_event
            found[name] = own if found.get(name, own) == own else TRUE
    return found


class _Tabulation:
    def __init__(self, automaton: Automaton, options: Options) -> None:
        self.automaton = automaton
        self.options = options
        self.compiler = Compiler(automaton.registers, _own_event(automaton), options.computes_early)
        self.lists: list[int] = []
        self.ways: list[list[int]] = []
        self.sets: list[list[int]] = []
        self.rivals: list[list[int]] = []
        self.rival_sets: list[list[int]] = []
        self.guards: list[list[int]] = []
        self.endings: dict[tuple[Ending, tuple[Take, ...]], int] = {}
        """The endings, each with the greedy loops that its whole ones refer to; their places follow the positions."""
        self.is_indexed = False

    def tables(self) -> Tables:
        automaton = self.automaton
        if len(automaton.variables) > MAXIMUM_VARIABLES:
            raise NotCompiled(f"more than {MAXIMUM_VARIABLES} variables")
        if any(predicate.calls_python for predicate in automaton.predicates):
            raise NotCompiled("a Python callable")
        programs = np.zeros((len(automaton.predicates), 2), np.int64)
        for index, predicate in enumerate(automaton.predicates):
            if predicate.rest is not None:
                programs[index] = self.compiler.condition(predicate.rest, predicate.own_event)
        if len(automaton.having) > MAXIMUM_HAVINGS:
            raise NotCompiled(f"more than {MAXIMUM_HAVINGS} different conditions of having")
        self.havings = [self.compiler.condition(having.expression, TRUE) for having in automaton.having]
        for position in automaton.positions:
            for ending in position.endings:
                self.endings.setdefault(with_rivals(ending, position), len(automaton.positions) + len(self.endings))
        places = [asked(position) for position in automaton.positions]
        places += [asked_at_end(*ending) for ending in self.endings]
        self.pages = pages(
            [*places, *(frozenset({index}) for index in automaton.not_before)], len(automaton.predicates)
        )
        rows = [self.position(position, number) for number, position in enumerate(automaton.positions)]
        indexed = {number for number, row in enumerate(rows) if row[l.S_INDEX] >= 0}
        rows += [self.ending(ending, rivals, number) for (ending, rivals), number in self.endings.items()]
        changing = [interest(position) for position in automaton.positions] + places[len(automaton.positions) :]
        not_before = [
            [page, self.pages.predicates[page].index(predicate), predicate]
            for page, predicate in zip(self.pages.page_of[len(places) :], automaton.not_before, strict=True)
        ]
        interests = np.array([self.bits(number, some) for number, some in enumerate(changing)], np.uint64)
        code = self.compiler.programs
        arrays = Arrays(
            params=self.params(),
            positions=_matrix(rows, l.S_SIZE),
            ways=_matrix(self.ways, l.C_SIZE),
            sets=_matrix(self.sets, l.B_SIZE, np.uint64),
            rivals=_matrix(self.rivals, l.C_SIZE),
            rival_sets=_matrix(self.rival_sets, l.B_SIZE, np.uint64),
            guards=_matrix(self.guards, l.G_SIZE),
            lists=np.array(self.lists or [0], np.int64),
            programs=programs,
            code=_matrix([list(row) for row in code.code], 3),
            interest=interests,
            concerned=concerned(interests, self.pages),
            updates=_matrix([list(row) for rows_of in self.updates() for row in rows_of], 6),
            updates_of=self.updates_of(),
            not_before=_matrix(not_before, l.F_SIZE),
        )
        return Tables(
            arrays,
            automaton,
            tuple(code.columns),
            tuple(code.initial),
            code.known_at_first,
            tuple(code.texts),
            self.pages.predicates,
            compact.decide(automaton, self.options.timeouts, self.options.compact, indexed),
            compact.registers_read(
                arrays.positions,
                arrays.ways,
                arrays.lists,
                arrays.programs,
                arrays.code,
                arrays.updates,
                arrays.updates_of,
                len(automaton.positions),
            ),
            compared=tuple(sorted(code.compared)),
            orders_texts=code.orders_texts,
            max_state_bytes=self.options.max_state_bytes,
        )

    def params(self) -> npt.NDArray[np.int64]:
        automaton, options = self.automaton, self.options
        params = np.zeros(l.P_SIZE, np.int64)
        window = automaton.window
        params[l.P_POSITIONS] = len(automaton.positions)
        params[l.P_WITHIN] = _length(window.length) if isinstance(window, Span) else l.NEVER
        params[l.P_COUNT] = window.events if isinstance(window, EventCount) else l.NEVER
        params[l.P_SKIP] = _SKIPS[automaton.skip.kind]
        target = automaton.skip.target
        params[l.P_SKIP_VARIABLE] = -1 if target is None else automaton.variables.index(target)
        params[l.P_OR_FAIL] = automaton.skip.or_fail
        params[l.P_AMBIGUOUS] = self.is_ambiguous()
        params[l.P_TIMEOUTS] = options.timeouts
        params[l.P_TIMED] = options.timeouts or any(ending.nots or ending.whole for ending, _ in self.endings)
        params[l.P_PASSES] = not params[l.P_TIMED] and not automaton.not_before
        params[l.P_SINCE] = any(take.since for position in automaton.positions for take in takes(position))
        params[l.P_ONCE_PER] = 0 if automaton.once_per is None else _length(automaton.once_per)
        params[l.P_DOMINANCE] = dominance.decide(automaton, options.timeouts, options.dominance).dominance.value
        params[l.P_LINGERS] = options.timeouts and (isinstance(window, EventCount) or params[l.P_SINCE])
        params[l.P_NOT_BEFORE] = len(automaton.not_before)
        params[l.P_NOT_BEFORE_READS] = any(automaton.predicates[i].reads_variables for i in automaton.not_before)
        params[l.P_MAX_RUNS] = options.max_runs
        params[l.P_MAX_MATCHES] = options.max_matches_per_event
        params[l.P_INDEXED] = self.is_indexed
        params[l.P_REGISTERS] = len(self.compiler.programs.initial)
        branches = [len(position.continuations) for position in automaton.positions]
        params[l.P_BRANCH] = max(branches) * (1 + max(len(position.endings) for position in automaton.positions))
        return params

    def is_ambiguous(self) -> bool:
        """Whether one partial match can be reached in several ways, so that equal ones must be brought together."""
        for position in self.automaton.positions:
            variables = [continuation.take.variable for continuation in position.continuations]
            if len(set(variables)) < len(variables):
                return True
        return False

    def position(self, position: Position, number: int) -> list[int]:
        if len(position.continuations) > MAXIMUM_CONTINUATIONS or len(position.rivals) > MAXIMUM_CONTINUATIONS:
            raise NotCompiled(f"more than {MAXIMUM_CONTINUATIONS} ways to go on from one place")
        row = [0] * l.S_SIZE
        row[l.S_CONTINUATIONS], row[l.S_CONTINUATIONS_END] = self.continuations(position.continuations, number)
        row[l.S_RIVALS], row[l.S_RIVALS_END] = self.rivals_of(position.rivals, number)
        perhaps = any(not ending.nots for ending in position.endings)
        row[l.S_ACCEPTS] = l.AT_ONCE if position.accepts else l.PERHAPS if perhaps else 0
        row[l.S_ENDINGS], row[l.S_ENDINGS_END] = self.listed(
            self.endings[with_rivals(ending, position)] for ending in position.endings
        )
        row[l.S_FRESH] = looks_at_the_next(position.continuations, position.rivals)
        row[l.S_GAP] = any(take.gap is not None for take in takes(position))
        row[l.S_SINCE] = any(take.since for take in takes(position))
        guards = [sets[guard] for sets in self.sets[row[l.S_CONTINUATIONS] :] for guard in (l.B_OVER, l.B_NOT_NEXT)]
        row[l.S_GUARDED] = any(guards) or bool(position.rivals) or row[l.S_GAP] or row[l.S_SINCE]
        row[l.S_PROGRAMS], row[l.S_PROGRAMS_END] = self.programs(asked(position), number)
        row[l.S_PAGE] = self.pages.page_of[number]
        row[l.S_INDEX], row[l.S_INDEX_COLUMN] = self.index(position, number)
        having = {index for way in position.continuations for index in way.having}
        having |= {index for ending in position.endings for index in ending.having}
        row[l.S_HAVING], row[l.S_HAVING_END] = self.listed(
            entry for index in sorted(having) for entry in (index, *self.havings[index])
        )
        self.is_indexed = self.is_indexed or row[l.S_INDEX] >= 0
        return row

    def continuations(self, continuations: tuple[Continuation, ...], number: int) -> tuple[int, int]:
        begin = len(self.ways)
        for continuation in continuations:
            way, sets = self.take(continuation.take, number)
            way[l.C_RIVALS] = sum(1 << index for index in set(continuation.greedy))  # equal loops are one rival
            sets[l.B_NOT_NEXT] = self.bits(number, continuation.not_next)
            sets[l.B_NOT_FOLLOWED] |= self.bits(number, continuation.not_followed_by)
            way[l.C_NEEDED] = sum(1 << index for index in continuation.having)
            self.ways.append(way)
            self.sets.append(sets)
        return begin, len(self.ways)

    def rivals_of(self, rivals: tuple[Take, ...], number: int) -> tuple[int, int]:
        begin = len(self.rivals)
        for rival in rivals:
            way, sets = self.take(rival, number)
            self.rivals.append(way)
            self.rival_sets.append(sets)
        return begin, len(self.rivals)

    def index(self, position: Position, number: int) -> tuple[int, int]:
        """The register and the column whose equality every predicate that matters here asks for; -1, -1 without one.

        An event with another value then changes nothing for a run that waits here, so the run need not be looked at.
        """
        if number == 0 or not position.continuations or self.options.timeouts:
            return -1, -1
        common: set[tuple[int, int]] | None = None
        for index in interest(position):
            rest = self.automaton.predicates[index].rest
            equalities = set() if rest is None else self.compiler.equalities(rest)
            common = equalities if common is None else common & equalities
        return min(common) if common else (-1, -1)

    def programs(self, predicates: frozenset[int], number: int) -> tuple[int, int]:
        """List those of the predicates that read variables, each with its bit."""
        page = self.pages.predicates[self.pages.page_of[number]]
        reading = sorted(index for index in predicates if self.automaton.predicates[index].reads_variables)
        return self.listed(entry for index in reading for entry in (page.index(index), index))

    def bits(self, number: int, predicates: Iterable[int]) -> int:
        """Some predicates as bits of the page of a position or ending."""
        return self.pages.bits(self.pages.page_of[number], predicates)

    def ending(self, ending: Ending, rivals: tuple[Take, ...], number: int) -> list[int]:
        if len(ending.whole) > MAXIMUM_HAVINGS - l.WHOLE:
            raise NotCompiled(f"more than {MAXIMUM_HAVINGS - l.WHOLE} whole loops at one end")
        row = [0] * l.S_SIZE
        row[l.S_CONTINUATIONS] = len(self.guards)
        for guard in ending.nots:
            kind = l.NOT_NEXT if guard.link is NotLink.NOT_NEXT else l.NOT_FOLLOWED
            page = self.pages.predicates[self.pages.page_of[number]]
            self.guards.append([kind, page.index(guard.predicate), _length(guard.window)])
        row[l.S_CONTINUATIONS_END] = len(self.guards)
        row[l.S_ENDINGS], row[l.S_ENDINGS_END] = self.continuations(ending.whole, number)
        row[l.S_RIVALS], row[l.S_RIVALS_END] = self.rivals_of(rivals, number)
        at_end = [*(way.take for way in ending.whole), *rivals]
        row[l.S_GAP] = any(take.gap is not None for take in at_end)
        row[l.S_SINCE] = any(take.since for take in at_end)
        is_next = any(guard.link is NotLink.NOT_NEXT for guard in ending.nots)
        row[l.S_FRESH] = is_next or looks_at_the_next(ending.whole, rivals)
        row[l.S_PROGRAMS], row[l.S_PROGRAMS_END] = self.programs(asked_at_end(ending, rivals), number)
        row[l.S_INDEX] = -1
        row[l.S_PAGE] = self.pages.page_of[number]
        row[l.S_NEEDED] = sum(1 << index for index in ending.having)
        return row

    def take(self, take: Take, number: int) -> tuple[list[int], list[int]]:
        way, sets = [0] * l.C_SIZE, [0] * l.B_SIZE
        way[l.C_VARIABLE], way[l.C_TARGET], way[l.C_GAP] = take.variable, take.target, _length(take.gap)
        way[l.C_KIND] = _KINDS[take.contiguity]
        way[l.C_SINCE], way[l.C_SINCE_END] = self.listed(
            entry for variable, length in take.since for entry in (variable, _length(length))
        )
        sets[l.B_TAKES] = self.bits(number, [take.predicate])
        sets[l.B_OVER] = self.bits(number, take.over)
        sets[l.B_REFUSED] = self.bits(number, take.refused)
        sets[l.B_NOT_FOLLOWED] = self.bits(number, take.openers)
        return way, sets

    def listed(self, entries: Any) -> tuple[int, int]:
        begin = len(self.lists)
        self.lists += entries
        return begin, len(self.lists)

    def updates(self) -> list[list[tuple[int, int, int, int, int, int]]]:
        return [self.compiler.programs.updates.get(name, []) for name in self.automaton.variables]

    def updates_of(self) -> npt.NDArray[np.int64]:
        bounds = np.zeros((len(self.automaton.variables), 2), np.int64)
        begin = 0
        for number, rows in enumerate(self.updates()):
            bounds[number] = begin, begin + len(rows)
            begin += len(rows)
        return bounds


def _length(length: int | float | None) -> int:
    """A window in whole units: times are whole, so a fraction reaches as far as the next whole number."""
    return l.NEVER if length is None else min(ceil(length), l.NEVER)


def _matrix(rows: list[list[int]], width: int, kind: type[np.generic] = np.int64) -> npt.NDArray[Any]:
    return np.array(rows, kind).reshape(len(rows), width) if rows else np.zeros((1, width), kind)
