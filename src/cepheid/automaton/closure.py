"""ε-closure: from a state of the graph to the position that it is (algorithm 1 of the formal semantics).

In: the graph and a state. Out: the ways to go on from there, in priority order, each with the guards met on the way.

The published algorithm lists the states that PROCEED transitions reach, keeps the first of equal ones and never
visits a state twice. Here a way also carries guards, so two ways to one waiting state are equal only if their guards
are; a way whose guards include those of another way to the same TAKE can add nothing and is dropped.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from cepheid.automaton.model import Continuation, Ending, Graph, Guard, Position, Proceed, Take
from cepheid.syntax.tree import NotLink


class _Way(NamedTuple):
    """How far a walk over PROCEEDs has come: the state, and what was gathered."""

    state: int
    nots: tuple[Guard, ...] = ()
    trailing: tuple[Guard, ...] = ()
    """The negations since the last element that was passed by: only these guard the end of a match (rule 7)."""
    greedy: tuple[int, ...] = ()
    having: tuple[int, ...] = ()
    whole: tuple[tuple[int, tuple[Guard, ...], tuple[int, ...]], ...] = ()
    """Whole loops gone by: the waiting state of each, and the negations and greedy loops on the way to it (rule 16)."""

    def along(self, graph: Graph, step: Proceed) -> _Way:
        """The way one PROCEED further on."""
        whole = self.whole
        if step.whole:
            ways = {other.target: other for other in graph.proceeds[self.state]}
            whole += tuple((wait, _merged(self.nots, ways[wait].nots), self.greedy) for wait in step.greedy)
        return _Way(
            step.target,
            _merged(self.nots, step.nots),
            _merged(() if step.skips else self.trailing, step.nots),
            tuple(dict.fromkeys(self.greedy + step.greedy)),
            tuple(dict.fromkeys(self.having + step.having)),
            tuple(dict.fromkeys(whole)),
        )


def close(graph: Graph, state: int, is_start: bool) -> Position:
    """The position that `state` is. At the start no link and no guard applies (rules 1 and 5)."""
    rivals: list[Take] = []
    continuations: list[Continuation] = []
    endings: list[Ending] = []
    for way in _reach(graph, state):
        if way.state == graph.final:
            ways = [_continuation(graph, rivals, *gone_by) for gone_by in way.whole]
            whole = dict.fromkeys(replace(way, take=replace(way.take, target=0)) for way in ways)
            endings.append(Ending(way.trailing, way.having, tuple(whole)))
        elif way.state in graph.takes:
            greedy = () if is_start else way.greedy
            continuations.append(_continuation(graph, rivals, way.state, way.nots, greedy, way.having))
    continuations = _without_needless(continuations)
    # rule 8: an earlier element comes first; ways to one element keep the order in which they were reached
    continuations.sort(key=lambda continuation: continuation.take.variable)
    accepts = Ending() in endings
    return Position(tuple(continuations), tuple(rivals), accepts, () if accepts else tuple(_weakest(endings)))


def _continuation(
    graph: Graph,
    rivals: list[Take],
    state: int,
    nots: tuple[Guard, ...],
    greedy: tuple[int, ...],
    having: tuple[int, ...] = (),
) -> Continuation:
    return Continuation(
        graph.takes[state],
        _predicates(nots, NotLink.NOT_NEXT),
        _predicates(nots, NotLink.NOT_FOLLOWED_BY),
        tuple(sorted({_index(rivals, replace(graph.takes[rival], target=0)) for rival in greedy})),
        having,
    )


def _reach(graph: Graph, state: int) -> list[_Way]:
    """Every way that leads from the state over PROCEEDs alone, the states between included, first things first."""
    reached: dict[_Way, None] = {}
    waiting = [_Way(state)]
    while waiting:
        way = waiting.pop()
        if way in reached:
            continue
        reached[way] = None
        for step in reversed(graph.proceeds[way.state]):
            is_plain = not (step.nots or step.greedy or step.having or (step.skips and way.trailing))
            waiting.append(way._replace(state=step.target) if is_plain else way.along(graph, step))
    return list(reached)


def _merged(nots: tuple[Guard, ...], more: tuple[Guard, ...]) -> tuple[Guard, ...]:
    return tuple(dict.fromkeys(nots + more)) if more else nots


def _predicates(nots: tuple[Guard, ...], link: NotLink) -> tuple[int, ...]:
    if not nots:
        return ()
    return tuple(sorted({guard.predicate for guard in nots if guard.link is link}))


def _index(rivals: list[Take], take: Take) -> int:
    if take not in rivals:
        rivals.append(take)
    return rivals.index(take)


def _without_needless(continuations: list[Continuation]) -> list[Continuation]:
    """Without those whose guards include all guards of another continuation with the same TAKE."""
    by_take: dict[Take, list[Continuation]] = {}
    for continuation in continuations:
        alike = by_take.setdefault(continuation.take, [])
        if not any(_is_weaker(other, continuation) for other in alike):
            alike[:] = [other for other in alike if not _is_weaker(continuation, other)]
            alike.append(continuation)
    kept = {id(continuation) for alike in by_take.values() for continuation in alike}
    return [continuation for continuation in continuations if id(continuation) in kept]


def _is_weaker(one: Continuation, other: Continuation) -> bool:
    return (
        set(one.not_next) <= set(other.not_next)
        and set(one.not_followed_by) <= set(other.not_followed_by)
        and set(one.greedy) <= set(other.greedy)
        and set(one.having) <= set(other.having)
    )


def _weakest(endings: list[Ending]) -> list[Ending]:
    """Without those that ask and wait for everything that another one does, and more."""
    sets = {(frozenset(one.nots), frozenset(one.having), frozenset(one.whole)): one for one in endings}
    return [
        ending
        for asked, ending in sets.items()
        if not any(other != asked and all(map(frozenset.issubset, other, asked)) for other in sets)
    ]
