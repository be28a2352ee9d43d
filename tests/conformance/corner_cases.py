"""Random cases (FORMAT.md) biased to where engines have been wrong: nots at the end, skip strategies,
windows, looped groups, greedy loops, events of one time; half of them with constructs of rules 13 to 19 as well.

`CohortWriter` makes the cases that cohorts are for: links and loops by any, no nots at the end, skip strategies that
forbid ranges of starts, longer streams. `EqualityWriter` makes patterns in which runs wait for a value of their own,
which are kept by themselves and found by an index: relaxed links, hardly a loop.

Cases come without an expectation, so that a difference found is a line of a corpus as soon as the reference's answer is
added. `cases()` gives the strategies for Hypothesis; `random_case` draws the same from a generator of random numbers,
which is quicker by far; `shorter` lists what a case may be shrunk to.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from conformance.cases import NotExpressible, pattern_tree
from hypothesis import strategies as st

from cepheid.conditions import Schema, bind
from cepheid.conditions.types import LONG, STRING
from cepheid.errors import ConditionError, MalformedPatternError
from cepheid.syntax.validation import check

Json: TypeAlias = dict[str, Any]
Choose: TypeAlias = Callable[[tuple[Any, ...]], Any]
"""Chooses one of several."""
CONDITIONS, EVENTS = "aabbc", "aaabbbcz"
SCHEMA = Schema.of([("t", LONG), ("id", LONG), ("name", STRING), ("price", LONG)])
DIGITS = tuple(range(10))


@dataclass
class _Writer:
    choose: Choose
    window: str
    is_modern: bool = False
    """Whether the constructs of rules 13 to 19 may be used."""
    names: list[str] = field(default_factory=list)
    nots: int = 0

    def chance(self, of_ten: int) -> bool:
        return bool(self.choose(DIGITS) >= 10 - of_ten)

    def pick(self, *choices: Any) -> Any:
        return self.choose(choices)

    def condition(self) -> Json:
        if self.names and self.chance(2):
            aggregate = {"fn": self.pick("last", "min", "sum", "first"), "var": self.pick(*self.names), "col": "price"}
            return {"col": "price", "op": self.pick("<=", ">", "="), "agg": aggregate}
        return {"col": "name", "op": "=", "value": self.pick(*CONDITIONS)}

    def span(self) -> int:
        return int(self.pick(1, 2, 3, 4, 5, 6, 7))

    def sequence(self, depth: int, at_end: bool) -> list[Json]:
        parts = [self.part("begin", depth, False)]
        for _ in range(self.pick(0, 1, 1, 2)):
            if self.chance(3):
                parts.append(self.negation(False))
            parts.append(self.part(self.pick("next", "followed_by", "followed_by", "followed_by_any"), depth, True))
        if self.chance(6 if at_end else 2):
            parts += [self.negation(at_end) for _ in range(self.pick(1, 1, 2))]
        return parts

    def negation(self, at_end: bool) -> Json:
        self.nots += 1
        link = self.pick("not_next", "not_followed_by", "not_followed_by")
        result: Json = {"link": link, "name": f"n{self.nots}", "where": self.condition()}
        if at_end and (self.chance(5) or (link == "not_followed_by" and self.window == "none")):
            result["within_prev"] = self.span()
        return result

    def part(self, link: str, depth: int, may_have_window: bool) -> Json:
        result: Json = {"link": link}
        before = list(self.names)
        is_group = depth > 0 and self.chance(3)
        if is_group and self.is_modern and self.chance(5):
            self.choice(result, depth)
        elif is_group:
            result["group"] = self.sequence(depth - 1, self.chance(3))
        else:
            result["name"] = f"v{len(self.names) + 1}"
            self.names.append(result["name"])
            if self.chance(8):
                result["where"] = self.condition()
        if self.chance(4):
            minimum = self.pick(0, 1, 1, 2)
            result["times"] = [minimum, self.pick(None, None, max(1, minimum), minimum + 1)]
            if self.chance(5):
                result["inner"] = self.pick("strict", "nd_relaxed")
            if not is_group and self.chance(4):
                result["whole" if self.is_modern and self.chance(5) else "greedy"] = True
            if self.is_modern and self.chance(3):
                result["having"] = self.having()
            if result["times"][1] is None and self.chance(2):
                result["until"] = self.condition()
            if self.chance(2):
                result["times_within"] = self.span()
        if self.chance(2):
            result["optional"] = True
        if may_have_window and self.chance(2):
            result["within_prev"] = self.span()
        if self.is_modern and before and self.chance(2):
            result["within_since"] = {"var": self.pick(*before), "t": self.span()}
        return result

    def choice(self, result: Json, depth: int) -> None:
        """Alternatives, or members in any order (rules 13 and 14)."""
        members = [self.part("begin", depth - 1, False) for _ in range(self.pick(2, 2, 3))]
        if self.chance(5):
            result["one_of"] = members
        else:
            result["all_of"] = members
            if self.chance(3):
                result["at_least"] = self.pick(1, 2)
            if self.chance(3):
                result["inner"] = self.pick("strict", "nd_relaxed")

    def having(self) -> Json:
        """A condition on what was taken (rule 15)."""
        variable = self.pick(*self.names)
        if self.chance(5):
            return {"agg": {"fn": "count", "var": variable, "col": "price"}, "op": ">=", "value": self.pick(1, 2)}
        aggregate = {"fn": self.pick("sum", "last", "max"), "var": variable, "col": "price"}
        return {"agg": aggregate, "op": self.pick("<=", ">"), "value": self.pick(1, 2, 3)}

    def skip(self) -> Json:
        kind = self.pick(
            "past_last_event",
            "past_last_event",
            "past_last_event",
            "to_next",
            "to_next",
            "no_skip",
            "to_first",
            "to_last",
        )
        if kind not in ("to_first", "to_last"):
            return {"kind": kind}
        result: Json = {"kind": kind, "target": self.pick(*self.names)}
        if self.chance(1):
            result["or_fail"] = True
        return result


class CohortWriter(_Writer):
    """Patterns whose partial matches can be kept as cohorts, and multiply."""

    def condition(self) -> Json:
        if self.names and self.chance(1):
            return {"col": "price", "op": "=", "agg": {"fn": "last", "var": self.pick(*self.names), "col": "price"}}
        return super().condition()

    def sequence(self, depth: int, at_end: bool) -> list[Json]:
        parts = [self.part("begin", depth, False)]
        for _ in range(self.pick(0, 1, 1, 2, 3)):
            if self.chance(2):
                parts.append(self.negation(False))
            link = self.pick("next", "followed_by", "followed_by_any", "followed_by_any", "followed_by_any")
            parts.append(self.part(link, depth, True))
        return parts

    def part(self, link: str, depth: int, may_have_window: bool) -> Json:
        result = super().part(link, depth, may_have_window)
        if "times" in result and self.chance(4):
            result["inner"] = "nd_relaxed"
        return result

    def skip(self) -> Json:
        kind = self.pick("no_skip", "no_skip", "past_last_event", "past_last_event", "to_first", "to_last")
        if kind not in ("to_first", "to_last"):
            return {"kind": kind}
        result: Json = {"kind": kind, "target": self.pick(*self.names)}
        if self.chance(1):
            result["or_fail"] = True
        return result


class EqualityWriter(CohortWriter):
    """Patterns whose runs do not multiply, and wait for an event with a value that they took."""

    def condition(self) -> Json:
        if self.names and self.chance(8):
            aggregate = {"fn": self.pick("last", "first"), "var": self.pick(*self.names), "col": "price"}
            return {"col": "price", "op": "=", "agg": aggregate}
        return _Writer.condition(self)

    def sequence(self, depth: int, at_end: bool) -> list[Json]:
        parts = [self.part("begin", 0, False)]
        for _ in range(self.pick(1, 1, 2, 3)):
            if self.chance(2):
                parts.append(self.negation(False))
            parts.append(self.part(self.pick("next", "followed_by", "followed_by", "followed_by"), 0, True))
        return parts

    def part(self, link: str, depth: int, may_have_window: bool) -> Json:
        if self.chance(1):
            return super().part(link, depth, may_have_window)
        result: Json = {"link": link, "name": f"v{len(self.names) + 1}", "where": self.condition()}
        self.names.append(result["name"])
        return result


WRITERS: dict[str, type[_Writer]] = {"corners": _Writer, "cohorts": CohortWriter, "equalities": EqualityWriter}


def _pattern(choose: Choose, about: str) -> Json:
    is_corner = about == "corners"
    window = choose(("none", "none", "time", "count") if is_corner else ("none", "time", "time", "count"))
    writer = WRITERS[about](choose, window, is_corner and choose((True, False)))
    pattern: Json = {"seq": writer.sequence(2, True)}
    pattern["skip"] = writer.skip()
    if window == "time":
        pattern["within"] = 2 + writer.span()
    elif window == "count":
        pattern["within_events"] = writer.span()
    if window != "none" and writer.chance(1 if is_corner else 2):
        pattern["not_before"] = [{"name": "n0", "where": writer.condition()}]
    if writer.is_modern and writer.chance(2):
        pattern["once_per"] = writer.span()
    return pattern


def _case(choose: Choose, about: str) -> Json:
    """A case: pattern, events, and what comes after the last event."""
    case: Json = {"pattern": _pattern(choose, about)}
    events, time = [], 1
    for number in range(choose((1, 2, 3, 4, 5, 6, 7, 8, 9, 10) if about == "corners" else (4, 7, 9, 11, 12))):
        time += choose((0, 0, 1, 1, 2, 5))
        events.append({"t": time, "id": number + 1, "name": choose(tuple(EVENTS)), "price": choose((0, 1, 2, 3))})
    case["events"] = events
    match choose(("nothing", "advance", "advance", "end")):
        case "advance":
            case["advance_to"] = time + choose(DIGITS)
        case "end":
            case["end_of_input"] = True
    return case


def is_well_formed(case: Json) -> bool:
    try:
        tree = pattern_tree(case["pattern"])
        check(tree)
        bind(tree, SCHEMA)
    except (MalformedPatternError, ConditionError, NotExpressible):
        return False
    return True


@st.composite
def _drawn(draw: st.DrawFn, about: str) -> Json:
    return _case(lambda choices: draw(st.sampled_from(choices)), about)


def cases(about: str) -> st.SearchStrategy[Json]:
    """Cases of one of the `WRITERS`."""
    return _drawn(about).filter(is_well_formed)


def random_case(chance: random.Random, about: str) -> Json:
    while not is_well_formed(case := _case(chance.choice, about)):
        pass
    return case


def shorter(case: Json) -> Iterator[Json]:
    """What a case may be shrunk to, one thing less at a time; all of it well-formed."""
    for place in range(len(case["events"])):
        yield {**case, "events": case["events"][:place] + case["events"][place + 1 :]}
    for key in ("advance_to", "end_of_input"):
        if key in case:
            yield {name: value for name, value in case.items() if name != key}
    for pattern in _shorter_patterns(case["pattern"]):
        less = {**case, "pattern": pattern}
        if is_well_formed(less):
            yield less


def _shorter_patterns(pattern: Json) -> Iterator[Json]:
    for key in ("within", "within_events", "not_before", "once_per"):
        if key in pattern:
            yield {name: value for name, value in pattern.items() if name != key}
    if pattern["skip"]["kind"] != "no_skip":
        yield {**pattern, "skip": {"kind": "no_skip"}}
    for sequence in _shorter_sequences(pattern["seq"]):
        yield {**pattern, "seq": sequence}


def _shorter_sequences(elements: list[Json]) -> Iterator[list[Json]]:
    for place, element in enumerate(elements):
        before, after = elements[:place], elements[place + 1 :]
        if not before and after and after[0]["link"] != "begin":
            yield [{**copy.copy(after[0]), "link": "begin"}, *after[1:]]
        elif before:
            yield before + after
        for key in element:
            if key not in ("link", "name", "group", "one_of", "all_of"):
                yield [*before, {name: value for name, value in element.items() if name != key}, *after]
        if "group" in element:
            first, *rest = element["group"]
            yield [*before, {**first, "link": element["link"]}, *rest, *after]
            for group in _shorter_sequences(element["group"]):
                yield [*before, {**element, "group": group}, *after]
        for key in element.keys() & {"one_of", "all_of"}:
            yield [*before, {**element[key][0], "link": element["link"]}, *after]
            for number, member in enumerate(element[key]):
                others = element[key][:number], element[key][number + 1 :]
                yield [*before, {**element, key: [*others[0], *others[1]]}, *after]
                for less in _shorter_sequences([member]):
                    yield [*before, {**element, key: [*others[0], *less, *others[1]]}, *after]
