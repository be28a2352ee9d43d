"""Where FlinkCEP's answer differs from ours, and which of its known peculiarities explains that.

In: a query and two answers. Out: how equal they are, and a `Difference` that a check has confirmed. Called by `run.py`.

No difference is explained by looks alone. A peculiarity that changes which matches there are is tried out: the query
is rewritten so that it says what FlinkCEP makes of it, and our engine must then find exactly FlinkCEP's matches.
"""

from __future__ import annotations

import json
from copy import deepcopy
from enum import Enum
from typing import Any

import pyarrow as pa
from ours import Answer, Taken, answer, taken, to_json
from query_groups import STREAM, Query


class Equality(Enum):
    """How equal two answers are; each kind includes those before it."""

    IN_ORDER = "in order"
    AS_MULTISETS = "as multisets"
    AS_SETS = "as sets"
    NOT = "not"


class Difference(Enum):
    """Why two answers differ: the rows of the table of differences that these queries can show."""

    ENDLESS = "`(a?)+` never returns"
    FIRST_OF_GROUP = "the first element of a group loses its own inner contiguity"
    FIRST_OF_GROUP_1_16 = (
        "a bounded loop at the start of a group takes its maximum, an optional one is not (Flink 1.16)"
    )
    COPIES = "one copy of a match per derivation"
    TIES = "ties among runs with one start follow a heap's array order"
    UNEXPLAINED = "unexplained"


def equality(ours: Answer, theirs: Answer) -> Equality:
    """How equal two answers are. An endless loop counts as an empty answer, as it did in the paper."""
    if ours.matches == theirs.matches:
        return Equality.IN_ORDER
    if sorted(ours.matches) == sorted(theirs.matches):
        return Equality.AS_MULTISETS
    return Equality.AS_SETS if set(ours.matches) == set(theirs.matches) else Equality.NOT


def difference(query: Query, ours: Answer, theirs: Answer) -> Difference | None:
    """The confirmed reason why two answers differ, if they do."""
    if theirs.endless:
        return Difference.ENDLESS if has_endless_group(query.pattern["seq"]) else Difference.UNEXPLAINED
    equal = equality(ours, theirs)
    if equal is Equality.IN_ORDER:
        return None
    if equal is Equality.NOT:
        for reason, keeps_bounds in ((Difference.FIRST_OF_GROUP, True), (Difference.FIRST_OF_GROUP_1_16, False)):
            if matches_of(as_flink_reads(query.pattern, keeps_bounds)) == set(theirs.matches):
                return reason
        return Difference.UNEXPLAINED
    if equal is Equality.AS_SETS:
        is_once = len(set(ours.matches)) == len(ours.matches)
        return Difference.COPIES if is_once else Difference.UNEXPLAINED
    same_moments = [_moment(match) for match in ours.matches] == [_moment(match) for match in theirs.matches]
    return Difference.TIES if same_moments else Difference.UNEXPLAINED


def has_endless_group(elements: list[dict[str, Any]]) -> bool:
    """Whether there is a group without a maximum whose iterations may take nothing."""
    for element in elements:
        inside = element.get("group", [])
        if inside and element.get("times", [1, 1])[1] is None and all(part.get("optional") for part in inside):
            return True
        if has_endless_group(inside):
            return True
    return False


def as_flink_reads(pattern: dict[str, Any], keeps_bounds: bool) -> dict[str, Any]:
    """The pattern that says what FlinkCEP makes of this one: the first loop of a group has the group's inner
    contiguity. Until Flink 1.16 it is not optional either, and of {n,m} only m is left."""
    read = deepcopy(pattern)
    _read_groups(read["seq"], keeps_bounds)
    return read


def _read_groups(elements: list[dict[str, Any]], keeps_bounds: bool) -> None:
    for element in elements:
        if "group" not in element:
            continue
        first = element["group"][0]
        if "times" in first:
            first["inner"] = element.get("inner", "relaxed")
            if not keeps_bounds:
                first.pop("optional", None)
                least, most = first["times"]
                first["times"] = [least if most is None else most, most]
        _read_groups(element["group"], keeps_bounds)


def matches_of(pattern: dict[str, Any]) -> set[Taken]:
    """What our engine finds."""
    text, _ = answer(to_json(pattern), pa.Table.from_pylist(STREAM))
    return {taken(match) for match in json.loads(text)}


def _moment(match: Taken) -> tuple[int, int]:
    """When a match is complete, and where it starts: rule 8 orders by these first."""
    events = [event for _, taken_by_one in match for event in taken_by_one]
    return max(events), min(events)
