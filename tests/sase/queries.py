"""Hypothesis strategies: small SASE queries with what they mean (`literal`), and streams for them."""

from __future__ import annotations

from collections.abc import Callable
from operator import ge, gt, le, lt, ne

from hypothesis import strategies as st
from sase.literal import STRATEGIES, Assigned, Component, Condition, Event, Query

_COMPARE = {">": gt, ">=": ge, "<": lt, "<=": le, "<>": ne}


def _p(event: Event) -> int:
    return int(event["p"] or 0)


def _when_bound(names: tuple[str, ...], decide: Callable[[Assigned], bool]) -> Callable[..., bool | None]:
    return lambda assigned, complete: decide(assigned) if all(name in assigned for name in names) else None


def _when_complete(name: str, decide: Callable[[Assigned], bool]) -> Callable[..., bool | None]:
    return lambda assigned, complete: decide(assigned) if name in complete else None


def _when_before(name: str, number: int, decide: Callable[[tuple[Event, ...]], bool]) -> Callable[..., bool | None]:
    """Of the event that was taken last, if so many came before it."""
    return lambda assigned, complete: decide(assigned[name]) if len(assigned.get(name, ())) > number else None


def _on_single(x: str, sign: str, number: int) -> Condition:
    compare = _COMPARE[sign]
    return Condition(f"{x}.p {sign} {number}", _when_bound((x,), lambda a: compare(_p(a[x][0]), number)))


def _between_singles(x: str, z: str, sign: str, form: int) -> Condition:
    compare = _COMPARE[sign]
    text = (f"{z}.p {sign} {x}.p", f"({z}.p {sign} {x}.p)", f"NOT NOT {z}.p {sign} LAST({x}.p)")[form % 3]
    return Condition(text, _when_bound((x, z), lambda a: compare(_p(a[z][0]), _p(a[x][0]))))


def _on_repeating(b: str, sign: str, number: int, form: int) -> Condition:
    compare, each = _COMPARE[sign], form % 8
    average = lambda events: sum(map(_p, events[:-1])) / (len(events) - 1)  # noqa: E731
    forms: list[tuple[str, int, Callable[[tuple[Event, ...]], bool]]] = [
        (f"{b}.p {sign} {number}", 0, lambda es: compare(_p(es[-1]), number)),
        (f"{b}[i].p {sign} {number}", 0, lambda es: compare(_p(es[-1]), number)),
        (f"{b}[i].p {sign} {b}[i-1].p", 1, lambda es: compare(_p(es[-1]), _p(es[-2]))),
        (f"{b}[ i - 2 ].p {sign} {b}[i].p", 2, lambda es: compare(_p(es[-3]), _p(es[-1]))),
        (f"{b}[i].p {sign} {b}[1].p", 1, lambda es: compare(_p(es[-1]), _p(es[0]))),
        (f"{b}[i].p {sign} avg({b}[..i-1].p)", 1, lambda es: compare(_p(es[-1]), average(es))),
        (f"{b}[1].p {sign} {number}", 0, lambda es: len(es) != 1 or compare(_p(es[-1]), number)),
        (f"SUM({b}[..i-1].p) <= {number + 3}", 0, lambda es: sum(map(_p, es[:-1])) <= number + 3),
    ]
    text, before, decide = forms[each]
    return Condition(text, _when_before(b, before, decide))


def _on_all(b: str, z: str, sign: str, number: int, form: int) -> Condition:
    """Over all events of `b`, asked when something behind it takes its event; some compare with that, `z`."""
    compare = _COMPARE[sign]
    total = lambda a: sum(map(_p, a[b]))  # noqa: E731
    alone: list[tuple[str, Callable[[Assigned], bool]]] = [
        (f"SUM({b}.p) {sign} {number + 2}", lambda a: compare(total(a), number + 2)),
        (f"COUNT({b}.*) {sign} {number}", lambda a: compare(len(a[b]), number)),
        (f"{b}[{b}.LEN].p {sign} {number}", lambda a: compare(_p(a[b][-1]), number)),
    ]
    together: list[tuple[str, Callable[[Assigned], bool]]] = [
        (f"{z}.p {sign} {b}.p", lambda a: compare(_p(a[z][0]), _p(a[b][-1]))),
        (f"{z}.p {sign} {b}[1].p", lambda a: compare(_p(a[z][0]), _p(a[b][0]))),
        (f"{z}.p + {number} {sign} SUM({b}.p)", lambda a: compare(_p(a[z][0]) + number, total(a))),
        (f"{z}.p {sign} MAX({b}[].p)", lambda a: compare(_p(a[z][0]), max(map(_p, a[b])))),
    ]
    if form % 7 < 3:
        text, decide = alone[form % 7]
        return Condition(text, _when_complete(b, decide))
    text, decide = together[form % 7 - 3]
    return Condition(text, _when_bound((b, z), decide))


def _on_negated(y: str, x: str | None, sign: str, number: int) -> Condition:
    compare = _COMPARE[sign]
    if x is None:
        return Condition(f"{y}.p {sign} {number}", lambda a, c: compare(_p(a[y][0]), number), y)
    return Condition(f"{y}.p {sign} {x}.p", lambda a, c: compare(_p(a[y][0]), _p(a[x][0])), y)


@st.composite
def queries(draw: st.DrawFn) -> Query:
    """Queries of one to three components that take events, with negations anywhere."""
    kinds = draw(st.lists(st.sampled_from("prn"), min_size=1, max_size=4).filter(lambda ks: set(ks) & {"p", "r"}))
    kinds = [kind if kind != "r" or "r" not in kinds[:n] else "p" for n, kind in enumerate(kinds)]
    types = draw(st.lists(st.sampled_from("ABC"), min_size=len(kinds), max_size=len(kinds)))
    components = tuple(
        Component(f"x{n}", kind_type, negated=kind == "n", repeats=kind == "r")
        for n, (kind, kind_type) in enumerate(zip(kinds, types, strict=True))
    )
    needs_window = kinds[0] == "n" or kinds[-1] == "n"
    counts = draw(st.booleans())
    window = draw(st.integers(2, 8)) if needs_window or draw(st.booleans()) else None
    conditions = draw(st.lists(_conditions(components), max_size=3))
    return Query(components, tuple(conditions), draw(st.booleans()), draw(st.sampled_from(STRATEGIES)), window, counts)


def _conditions(components: tuple[Component, ...]) -> st.SearchStrategy[Condition]:
    singles = [c.name for c in components if not c.negated and not c.repeats]
    sign, number, form = st.sampled_from(list(_COMPARE)), st.integers(0, 4), st.integers(0, 55)
    choices: list[st.SearchStrategy[Condition]] = []
    for place, component in enumerate(components):
        before = [c.name for c in components[:place] if not c.negated and not c.repeats]
        name = st.just(component.name)
        if component.negated:
            at_start = all(c.negated for c in components[:place])
            readable = st.sampled_from([None, *(singles if at_start else before)])
            choices.append(st.builds(_on_negated, name, readable, sign, number))
        elif component.repeats:
            choices.append(st.builds(_on_repeating, name, sign, number, form))
            behind = [c.name for c in components[place:] if not c.negated and not c.repeats]
            if behind:
                choices.append(st.builds(_on_all, name, st.sampled_from(behind), sign, number, form))
        else:
            choices.append(st.builds(_on_single, name, sign, number))
            if before:
                choices.append(st.builds(_between_singles, st.sampled_from(before), name, sign, form))
    return st.one_of(choices)


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    """Events with number `n`, time `t`, `type`, key `k` (some NULL) and price `p`."""
    kinds = draw(
        st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from((1, 1, 1, 2, None)), st.integers(0, 4)), max_size=8)
    )
    times = draw(st.lists(st.integers(1, 3), min_size=len(kinds), max_size=len(kinds)))
    events: list[Event] = []
    for number, (kind, key, price) in enumerate(kinds):
        events.append({"n": number, "t": sum(times[: number + 1]), "type": kind, "k": key, "p": price})
    return events
