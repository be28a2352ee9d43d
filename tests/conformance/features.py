"""What a case uses of the language, read from its JSON, and samples in which everything occurs.

In: cases. Out: names of features; a seeded sample. Called by the runner for engines that are too slow for every case.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from cases import Case

_COMBINED = ("group", "one_of", "all_of")
AT_LEAST = 5
"""How many cases of a large sample have each feature, where there are so many."""


def features_of(case: Case) -> frozenset[str]:
    """The features of a case: of its pattern, and of what it asks for."""
    pattern = case.data["pattern"]
    found = set(_of_sequence(pattern["seq"], at_end=True, in_group=False))
    found |= set(_of_whole(pattern))
    found |= {
        f"case: {name}"
        for name in ("advance_to", "end_of_input", "reject", "fails", "watermarks", "partition_by")
        if name in case.data
    }
    if case.data.get("late"):
        found.add("case: late events")
    if case.timeouts:
        found.add("case: timeouts")
    if case.matches is not None:
        found.add("case: matches" if case.matches else "case: no match")
    times = [event["t"] for event in case.events]
    if len(set(times)) < len(times):
        found.add("case: equal times")
    return frozenset(found)


def covering_sample(cases: Sequence[Case], count: int, seed: str = "cepheid") -> list[Case]:
    """`count` cases, the same for the same seed, in their order; every feature occurs as often as the size allows.

    Cases are taken in a random order: first those that have a feature which is still rare, then any.
    """
    order = list(range(len(cases)))
    random.Random(seed).shuffle(order)
    features = [features_of(case) for case in cases]
    seen: Counter[str] = Counter()
    chosen: list[int] = []
    for enough in (*range(1, AT_LEAST + 1), None):
        for index in order:
            is_wanted = enough is None or any(seen[feature] < enough for feature in features[index])
            if is_wanted and len(chosen) < count and index not in chosen:
                chosen.append(index)
                seen.update(features[index])
    return [cases[index] for index in sorted(chosen)]


def _of_whole(pattern: dict[str, Any]) -> Iterator[str]:
    skip = pattern["skip"]
    yield f"skip: {skip['kind']}"
    if skip.get("or_fail"):
        yield f"skip: {skip['kind']} or fail"
    if "within" in pattern:
        yield "window: within"
    if "within_events" in pattern:
        yield "window: events"
    if "within" not in pattern and "within_events" not in pattern:
        yield "window: none"
    if "once_per" in pattern:
        yield "once per"
    for before in pattern.get("not_before", []):
        yield "not: before the start"
        yield from _of_condition(before.get("where"), "")
    if len(pattern.get("not_before", [])) > 1:
        yield "not: several before the start"


def _of_sequence(elements: list[dict[str, Any]], at_end: bool, in_group: bool) -> Iterator[str]:
    for index, element in enumerate(elements):
        previous = elements[index - 1] if index else None
        is_last = at_end and all(_is_not(later) for later in elements[index + 1 :])
        if _is_not(element):
            yield from _of_not(element, previous, is_last, in_group)
        else:
            yield from _of_element(element, previous, is_last, in_group)


def _of_not(element: dict[str, Any], previous: dict[str, Any] | None, at_end: bool, in_group: bool) -> Iterator[str]:
    link = element["link"]
    yield f"not: {link} {'at the end' if at_end else 'between'}"
    if in_group:
        yield f"not: {link} in a group"
    if previous is not None and _is_not(previous):
        yield "not: several in a row"
    elif previous is not None and "times" in previous:
        yield f"not: {link} behind a {'looped group' if 'group' in previous else 'loop'}"
    elif previous is not None and previous.get("optional"):
        yield "not: behind an optional element"
    if "within_prev" in element:
        yield f"not: {link} with its own window"
    yield from _of_condition(element.get("where"), element["name"])


def _of_element(
    element: dict[str, Any], previous: dict[str, Any] | None, at_end: bool, in_group: bool
) -> Iterator[str]:
    kind = next((kind for kind in _COMBINED if kind in element), "loop" if "times" in element else "single")
    yield f"link: {element['link']} to a {kind}"
    if element.get("optional") or element.get("times", [1])[0] == 0:
        place = "at the start" if element["link"] == "begin" else "at the end" if at_end else "between"
        yield f"optional: {kind} {place}"
    if previous is not None and previous.get("optional"):
        yield f"link: {element['link']} behind an optional element"
    if "having" in element:
        yield f"having: on a {kind}"
    if "within_since" in element:
        yield f"window: since an element on a {kind}"
    if kind == "group":
        yield "group: in a group" if in_group else "group"
        yield from _of_sequence(element["group"], at_end, in_group=True)
    elif kind in _COMBINED:
        yield f"{kind}: looped" if "times" in element else f"{kind}: once"
        if "at_least" in element:
            yield "all_of: at least"
        for part in element[kind]:
            yield from _of_sequence([part], at_end, in_group=True)
    else:
        yield from _of_condition(element.get("where"), element["name"])
        if element.get("where") is None:
            yield "condition: none"
    if "times" in element:
        yield from _of_loop(element, kind)
    if "within_prev" in element:
        yield f"window: since previous on a {kind}"


def _of_loop(element: dict[str, Any], kind: str) -> Iterator[str]:
    minimum, maximum = element["times"]
    counts = "or more" if maximum is None else "exactly" if minimum == maximum else "from … to"
    yield f"loop: {kind} {counts}"
    yield f"loop: {kind} inner {element.get('inner', 'relaxed')}"
    if element.get("whole"):
        yield "loop: whole optional" if element.get("optional") else "loop: whole"
    if element.get("greedy"):
        yield "loop: greedy optional" if element.get("optional") else "loop: greedy"
    if "until" in element:
        yield f"loop: {kind} until"
        yield from _of_condition(element["until"], element.get("name", ""))
    if "times_within" in element:
        yield f"window: between events of a {kind}"


def _of_condition(condition: dict[str, Any] | None, own: str) -> Iterator[str]:
    if condition is None:
        return
    for connective in ("and", "or", "not"):
        if connective in condition:
            yield f"condition: {connective}"
            parts = condition[connective]
            for part in parts if isinstance(parts, list) else [parts]:
                yield from _of_condition(part, own)
    if "agg" in condition:
        aggregate = condition["agg"]
        yield f"condition: {aggregate['fn']}"
        yield f"condition: reads {'its own variable' if aggregate['var'] == own else 'an earlier variable'}"
        if "k" in aggregate:
            yield "condition: last with an offset"
        if "plus_current" in condition:
            yield "condition: aggregate plus the current event"


def _is_not(element: dict[str, Any]) -> bool:
    return element["link"] in ("not_next", "not_followed_by")
