"""Active instance stacks: sequence scan and construction with negation pushed in (PNCEP) and without (SASE).

In: the components of a query SEQ(E1, …, !(Ei), …, EL), a window, and events one by one in their order. Out: the
sequences that each event completes. Written after algorithms 1 and 2 of the PNCEP paper, small and slow; an oracle
for the tests that owes nothing to the rest of the project, and what the paper's figures 6 and 7 measure.

Each state of the automaton has a stack of instances (AIS). An instance points to the *most recent instance in the
previous stack* (RIP) at the time it came; below it lie the older ones. Following the RIP and what lies below, from
stack to stack, gives all sequences that end in an instance. A group of stacks per value of the key (PAIS) keeps
values apart.

The paper leaves one thing open: whether an instance that a negative event removed can still be reached over a RIP
that was set before. It must be: for SEQ(A, !(B), C, D) and the stream a c b d, b comes behind c, where it forbids
nothing, but it removes a from its stack. With `forgets=True` such instances are out of reach, and results are lost
unless the negated component is the last but one, as it is in the paper's example.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Event = Mapping[str, Any]
Sequence = tuple["Instance", ...]


@dataclass(frozen=True, slots=True)
class Component:
    """One component of a query: which events it accepts, and whether they must not occur."""

    accepts: Callable[[Event], bool]
    negated: bool = False


@dataclass(slots=True, eq=False)
class Instance:
    """An event in a stack."""

    event: Event
    time: int
    rip: Instance | None
    below: Instance | None
    removed: bool = False


class Stacks:
    """The states of one query and their stacks, for one value of the key."""

    def __init__(self, components: tuple[Component, ...], window: int, forgets: bool) -> None:
        self.components = components
        self.window = window
        self.forgets = forgets
        self.stacks: list[deque[Instance]] = [deque() for _ in components]

    def scan(self, event: Event, time: int) -> Iterator[Sequence]:
        """Algorithm 2 for one event: the sequences that it completes.

        Where an event fits several components, the later ones are first: it must not become its own predecessor.
        """
        self._leave_window(time)
        for state in reversed(range(len(self.components))):
            if self.components[state].accepts(event):
                added, previous = self._transition(state, event, time)
                if added is None:
                    continue
                if self.components[state].negated:
                    self._remove(previous)
                    self.stacks[state].pop()
                elif state == len(self.components) - 1:
                    yield from self._construct(state, added, time, ())
                    self.stacks[state].pop()

    def _transition(self, state: int, event: Event, time: int) -> tuple[Instance | None, int]:
        """Algorithm 1: put the event on the stack of its state, with its RIP, unless the previous stack is empty.

        The RIP goes past negative states, whose stacks hold an instance for a moment only.
        """
        previous = self._previous(state)
        if previous >= 0 and not self.stacks[previous]:
            return None, previous
        rip = self.stacks[previous][-1] if previous >= 0 else None
        stack = self.stacks[state]
        stack.append(Instance(event, time, rip, stack[-1] if stack else None))
        return stack[-1], previous

    def _previous(self, state: int) -> int:
        """The nearest state before that is not negative; -1 is the initial state."""
        previous = state - 1
        while previous >= 0 and self.components[previous].negated:
            previous -= 1
        return previous

    def _remove(self, state: int) -> None:
        """A negative event came: its RIP, and all below, can no longer be followed by what comes next in the query."""
        for instance in self.stacks[state]:
            instance.removed = self.forgets
        self.stacks[state].clear()

    def _construct(self, state: int, instance: Instance, last: int, behind: Sequence) -> Iterator[Sequence]:
        """Follow the RIP, and what lies below it, to the leftmost stack."""
        sequence = (instance, *behind)
        previous = self._previous(state)
        if previous < 0:
            yield sequence
            return
        earlier = instance.rip
        while earlier is not None and last - earlier.time < self.window:
            if not earlier.removed:
                yield from self._construct(previous, earlier, last, sequence)
            earlier = earlier.below

    def _leave_window(self, time: int) -> None:
        for stack in self.stacks:
            while stack and time - stack[0].time >= self.window:
                stack.popleft()
                if stack:
                    stack[0].below = None


class Pncep:
    """The whole query with negation pushed into scan and construction. No negated component first or last."""

    def __init__(
        self, components: tuple[Component, ...], window: int, key: str | None = None, forgets: bool = False
    ) -> None:
        self._key = key
        self._groups: dict[Hashable, Stacks] = defaultdict(lambda: Stacks(components, window, forgets))
        self.intermediate = 0
        """Sequences that construction made so far."""

    def scan(self, event: Event, time: int) -> Iterator[Sequence]:
        """The results that an event completes."""
        value = event[self._key] if self._key else None
        for sequence in self._groups[value].scan(event, time):
            self.intermediate += 1
            yield sequence


class Sase:
    """The same query as SASE runs it: sequences of the positive components, then the negation operator."""

    def __init__(self, components: tuple[Component, ...], window: int, key: str | None = None) -> None:
        self._components = components
        self._window = window
        self._key = key
        self._construction = Pncep(tuple(c for c in components if not c.negated), window, key)
        self._negative: dict[tuple[Hashable, int], list[int]] = defaultdict(list)
        """The times of negative events, by value of the key and component."""

    @property
    def intermediate(self) -> int:
        """Sequences that construction made so far, before the negation operator."""
        return self._construction.intermediate

    def scan(self, event: Event, time: int) -> Iterator[Sequence]:
        """The results that an event completes."""
        value = event[self._key] if self._key else None
        for sequence in self._construction.scan(event, time):
            if self._is_allowed(sequence, value):
                yield sequence
        for number, component in enumerate(self._components):
            if component.negated and component.accepts(event):
                times = self._negative[value, number]
                times.append(time)
                del times[: bisect_right(times, time - self._window)]

    def _is_allowed(self, sequence: Sequence, value: Hashable) -> bool:
        """Whether no negative event lies between the two events around its place."""
        positive = [number for number, component in enumerate(self._components) if not component.negated]
        for (before, after), (left, right) in zip(pairwise(positive), pairwise(sequence), strict=True):
            for number in range(before + 1, after):
                times = self._negative[value, number]
                if bisect_right(times, left.time) < bisect_left(times, right.time):
                    return False
        return True
