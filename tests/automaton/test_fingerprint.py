"""What a fingerprint tells apart, and what it does not: names."""

from __future__ import annotations

from cepheid import Pattern
from cepheid.automaton.fingerprint import fingerprint
from cepheid.syntax.skip import to_last


def folded(variable: str = "a", name: str = "z", init: str = "0", update: str = "z + price") -> str:
    rising = Pattern.begin(variable).where(f"{name} < 9").one_or_more().fold(name, init=init, update=update)
    return fingerprint(rising.followed_by("end").where("price = 0").automaton())


def named(a: str, b: str, skipped: str | None = None) -> str:
    after = f"price > {a}.price AND COUNT({a}.*) > 2 AND ABS({a}.price) < 3"
    pattern = Pattern.begin(a).where("price > 1").one_or_more().followed_by(b).where(after)
    return fingerprint(pattern.skip(to_last(skipped or a)).automaton())


def test_a_fold_is_all_of_its_parts_but_its_name() -> None:
    assert len({folded(), folded(init="1"), folded(update="z + 2 * price")}) == 3
    assert folded() == folded(variable="b") == folded(name="total", update="total + price")


def test_names_of_variables_make_no_difference_and_their_roles_do() -> None:
    assert named("a", "b") == named("b", "a") == named("first", "second")
    assert named("a", "b") != named("a", "b", skipped="b")
