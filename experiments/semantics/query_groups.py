"""The four groups of queries of the formal-semantics paper, generated from its description (section 8.2).

In: nothing. Out: `Query`s, in the format of tests/conformance/FORMAT.md, and the stream that all of them run on.
Called by `run.py`.

A query is `spat θ lpat` (NOGP), that in a group with a quantifier (SLGP), a loop alone in such a group (LGP), or the
second kind once more in a group (SLGGP). The paper's {0,n} is an optional {1,n}, as it says itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

GROUPS = {"NOGP": 378, "SLGP": 3_024, "LGP": 1_008, "SLGGP": 9_072}
"""How many queries each group has in the paper."""

STREAM = [
    {"t": number, "id": number, "name": "abc"[name - 1], "price": price}
    for number, name, price in (
        (1, 1, 0),
        (2, 2, 5),
        (3, 1, 0),
        (4, 2, 2),
        (5, 1, 0),
        (6, 3, 2),
        (7, 1, 0),
        (8, 2, 5),
        (9, 1, 8),
    )
]
"""The paper's events e(id, name, price); its names 1, 2, 3 are a, b, c here."""

LINKS = {"⋅": "next", "∘": "followed_by", "⊙": "followed_by_any"}
INNER = {"⋅": "strict", "∘": "relaxed", "⊙": "nd_relaxed"}
SKIPS = ("no_skip", "to_next", "past_last_event")


@dataclass(frozen=True, slots=True)
class Query:
    """One query: as the paper writes it, and as a pattern in the format of the conformance cases."""

    group: str
    number: int
    text: str
    pattern: dict[str, Any]

    @property
    def id(self) -> str:
        return f"{self.group}/{self.number}"


@dataclass(frozen=True, slots=True)
class Quantifier:
    """How often a loop or a group takes: the paper's {n,m}, with or without a condition that ends it."""

    text: str
    fields: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, least: int, most: int | None, until: bool = False) -> Quantifier:
        """{least,most}; the condition that ends it is always the same one."""
        fields: list[tuple[str, Any]] = [("times", [max(least, 1), most])]
        if least == 0:
            fields.append(("optional", True))
        if until:
            fields.append(("until", {"col": "name", "op": "=", "value": "c"}))
        bounds = f"{{{least},{'inf' if most is None else most}}}"
        return cls(bounds + ("U(name == 3)" if until else ""), tuple(fields))


LOOPS = (
    Quantifier.of(0, 3),
    Quantifier.of(1, 3),
    Quantifier.of(3, 3),
    Quantifier.of(0, None),
    Quantifier.of(1, None),
    Quantifier.of(0, None, until=True),
    Quantifier.of(1, None, until=True),
)
ONCE = Quantifier("", ())
OF_GROUPS = (ONCE, *LOOPS)
OF_OUTER_GROUPS = (ONCE, Quantifier.of(0, 3), Quantifier.of(1, None))


@dataclass(frozen=True, slots=True)
class Part:
    """A sequence of elements, as text and as data."""

    text: str
    elements: list[dict[str, Any]]


def all_queries() -> Iterator[Query]:
    """All four groups."""
    pairs, loops = list(_pairs()), list(_loops())
    grouped = [_grouped(part, quantifier) for part, quantifier in product(pairs, OF_GROUPS)]
    parts = {
        "NOGP": pairs,
        "SLGP": grouped,
        "LGP": [
            _grouped(Part(loop.text, [{"link": "begin", **loop.elements[0]}]), quantifier)
            for loop, quantifier in product(loops, OF_GROUPS)
        ],
        "SLGGP": [_grouped(part, quantifier) for part, quantifier in product(grouped, OF_OUTER_GROUPS)],
    }
    for group, of_group in parts.items():
        for number, (part, skip) in enumerate(product(of_group, SKIPS)):
            yield Query(group, number, part.text, {"skip": {"kind": skip}, "seq": part.elements})


def _loops() -> Iterator[Part]:
    """`lpat`: a simple condition or one with a fold, each inner contiguity, each quantifier."""
    conditions = {
        "name == 2": {"col": "name", "op": "=", "value": "b"},
        "z1 + price <= 10": {
            "agg": {"fn": "sum", "var": "pl", "col": "price"},
            "plus_current": "price",
            "op": "<=",
            "value": 10,
        },
    }
    for (text, where), (sign, inner), quantifier in product(conditions.items(), INNER.items(), LOOPS):
        element = {"name": "pl", "where": where, **dict(quantifier.fields), "inner": inner}
        yield Part(f"pl:e:[{text}]_{sign}{quantifier.text}", [element])


def _pairs() -> Iterator[Part]:
    """`spat θ lpat`."""
    single = {"link": "begin", "name": "ps", "where": {"col": "name", "op": "=", "value": "a"}}
    for loop, (sign, link) in product(_loops(), LINKS.items()):
        yield Part(f"ps:e:[name == 1]{sign}{loop.text}", [single, {"link": link, **loop.elements[0]}])


def _grouped(part: Part, quantifier: Quantifier) -> Part:
    """`(part)quantifier`; between the iterations of a group stands ⋅."""
    element: dict[str, Any] = {"link": "begin", "group": part.elements, **dict(quantifier.fields)}
    if quantifier.fields:
        element["inner"] = "strict"
    return Part(f"({part.text}){quantifier.text}", [element])
