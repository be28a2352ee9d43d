"""ε-closure: from a state of the graph to the position that it is (algorithm 1 of the formal semantics).

In: the graph and a state. Out: the ways to go on from there, in priority order, each with the guards met on the way.

The published algorithm lists the states that PROCEED transitions reach, keeps the first of equal ones and never
visits a state twice. Here a way also carries guards, so two ways to one waiting state are equal only if their guards
are; a way whose guards include those of another way to the same TAKE can add nothing and is dropped.
"""

from __future__ import annotations

from typing import NamedTuple

from cepheid.automaton.model import Continuation, Ending, Graph, Guard, Position, Take
from cepheid.syntax.tree import NotLink


class _Way(NamedTuple):
    """How far a walk over PROCEEDs has come: the state, and what was gathered."""

    state: int
    nots: tuple[Guard, ...]
    trailing: tuple[Guard, ...]
    """The nots since the last element that was passed by: only these guard the end of a match (rule 7)."""
    greedy: tuple[int, ...]


def close(graph: Graph, state: int, is_start: bool) -> Position:
    """The position that `state` is. At the start no link and no guard applies (rules 1 and 5)."""
    ways = _reach(graph, state)
    rivals: list[Take] = []
    continuations: list[Continuation] = []
    endings: list[Ending] = []
    accepts = False
    for way in ways:
        if way.state == graph.final:
            if way.trailing:
                endings.append(Ending(way.trailing))
            else:
                accepts = True
        elif (take := graph.takes.get(way.state)) is not None:
            greedy = () if is_start else tuple(sorted(_index(rivals, graph.takes[rival]) for rival in way.greedy))
            continuations.append(
                Continuation(
                    take,
                    _predicates(way.nots, NotLink.NOT_NEXT),
                    _predicates(way.nots, NotLink.NOT_FOLLOWED_BY),
                    greedy,
                )
            )
    continuations = _without_needless(continuations)
    continuations.sort(key=lambda continuation: continuation.take.variable)  # rule 8: an earlier element comes first
    return Position(tuple(continuations), tuple(rivals), accepts, () if accepts else tuple(_weakest(endings)))


def _reach(graph: Graph, state: int) -> list[_Way]:
    """Every way that leads from the state over PROCEEDs alone, the states between included, first things first."""
    reached: dict[_Way, None] = {}
    waiting = [_Way(state, (), (), ())]
    while waiting:
        way = waiting.pop()
        if way in reached:
            continue
        reached[way] = None
        at, nots, trailing, greedy = way
        for step in reversed(graph.proceeds[at]):
            if step.nots or step.greedy or (step.skips and trailing):
                before = () if step.skips else trailing
                more = tuple(dict.fromkeys(greedy + step.greedy))
                waiting.append(_Way(step.target, _merged(nots, step.nots), _merged(before, step.nots), more))
            else:
                waiting.append(_Way(step.target, nots, trailing, greedy))
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
    )


def _weakest(endings: list[Ending]) -> list[Ending]:
    sets = [frozenset(ending.nots) for ending in endings]
    keep = {guards: ending for guards, ending in zip(sets, endings, strict=True)}
    return [ending for guards, ending in keep.items() if not any(other < guards for other in keep)]
