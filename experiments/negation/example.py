"""The worked example of the PNCEP paper (query Q1 and the stream of its figure 1), rebuilt from its text.

The paper prints the stream as a picture; its text names the events by their results. Partition 1 holds
a1 b3 d7 b10 c b18 d20 with the time of c not given, somewhere between b10 and b18; partition 2 holds
a4 b6 c8 d9 b13 b16 d17. Two names are misprints there: b3 for b13 (partition 2), and a4 for a1 in <a4, b18, d20>.
"""

from __future__ import annotations

from typing import Any

from cepheid import Pattern
from experiments.negation.ais import Component

_PARTITIONS = {1: "a1 b3 d7 b10 c12 b18 d20", 2: "a4 b6 c8 d9 b13 b16 d17"}
EVENTS: list[dict[str, Any]] = sorted(
    (
        {"t": int(name[1:]), "type": name[0].upper(), "attr1": partition, "attr2": 1}
        for partition, names in _PARTITIONS.items()
        for name in names.split()
    ),
    key=lambda event: event["t"],
)

QUERY = (
    Pattern.begin("a").where("type = 'A'")
    .followed_by_any("b").where("type = 'B'")
    .not_followed_by("c").where("type = 'C'")
    .followed_by_any("d").where("type = 'D' AND attr2 = 1")
    .within(20)
)  # fmt: skip
"""EVENT SEQ(A a, B b, !(C c), D d) WHERE [attr1] AND d.attr2 = '1' WITHIN 20"""

INTERMEDIATE = [
    "a1 b3 d7",
    "a1 b3 d20",
    "a1 b10 d20",
    "a1 b18 d20",
    "a4 b6 d9",
    "a4 b6 d17",
    "a4 b13 d17",
    "a4 b16 d17",
]
FINAL = ["a1 b3 d7", "a1 b18 d20", "a4 b13 d17", "a4 b16 d17"]


def components() -> tuple[Component, ...]:
    """The same query for the stacks; the key attr1 is given to them apart."""
    return (
        Component(lambda event: event["type"] == "A"),
        Component(lambda event: event["type"] == "B"),
        Component(lambda event: event["type"] == "C", negated=True),
        Component(lambda event: event["type"] == "D" and event["attr2"] == 1),
    )
