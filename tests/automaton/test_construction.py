"""Constructions of the automaton, seen in how it prints itself, and in its size."""

from __future__ import annotations

import time

import pytest

from cepheid import MalformedPatternError, Pattern, all_of, one_of
from cepheid.automaton.predicates import PredicateTable
from cepheid.syntax.tree import Contiguity

# Example 1 of the formal semantics: prices of name 1 that sum up to at most 10, until name 2 comes.
BOUNDED_SUM = Pattern.begin("p1").where("name = 1 AND SUM(p1.price) + price <= 10").one_or_more().until("name = 2")


def test_examples_2_and_3_of_the_formal_semantics() -> None:
    """Figure 1's transducer: a start and one accepting state, left on name 2, with the sum as its data variable."""
    assert str(BOUNDED_SUM.automaton()) == (
        "variables: p1\n"
        "0: start\n"
        "   TAKE p1 if name = 1 AND SUM(p1.price) + price <= 10 → 1\n"
        "      never one with name = 2\n"
        "1: position\n"
        "   relaxed TAKE p1 if name = 1 AND SUM(p1.price) + price <= 10 → 1\n"
        "      IGNORE what does not satisfy it\n"
        "      until name = 2\n"
        "   END"
    )
    assert [str(register) for register in BOUNDED_SUM.automaton().registers.registers] == ["sum(price) of p1"]


def test_bounded_loops_are_unrolled_and_optional_ends_are_joined() -> None:
    automaton = Pattern.begin("a").followed_by("b").times(2, 3).optional().next("c").automaton()
    by_targets = [[c.take.target for c in position.continuations] for position in automaton.positions]
    assert by_targets == [[1], [2, 3], [4], [], [5, 3], [3]]
    assert [position.accepts for position in automaton.positions] == [False, False, False, True, False, False]


def test_equal_predicates_are_shared_and_equal_positions_merged() -> None:
    once = Pattern.begin("a").where("x = 1").followed_by("b").where("x = 1")
    assert len(once.automaton().predicates) == 1
    nested = Pattern.begin(Pattern.begin("a").where("x = 1").one_or_more()).one_or_more()
    assert len(nested.automaton().positions) == len(
        Pattern.begin("a").where("x = 1").one_or_more().automaton().positions
    )


def test_a_group_passes_its_link_to_its_first_element_only() -> None:
    group = Pattern.begin("b").optional().followed_by_any("c")
    position = Pattern.begin("a").next(group).automaton().positions[1]
    assert [c.take.contiguity for c in position.continuations] == [Contiguity.STRICT, Contiguity.NON_DETERMINISTIC]


def test_nots_behind_a_loop_guard_between_its_events() -> None:
    text = str(Pattern.begin("a").one_or_more().not_followed_by("b").where("x = 2").followed_by("c").automaton())
    assert text.count("not followed by x = 2") == 2


def test_greedy_binds_what_follows_but_not_the_end() -> None:
    followed = Pattern.begin("a").one_or_more().greedy().followed_by("b").automaton()
    assert "while greedy a cannot take" in str(followed)
    assert "greedy" not in str(Pattern.begin("a").one_or_more().greedy().automaton())


def test_trailing_nots_delay_the_end_unless_an_optional_element_was_passed_by() -> None:
    trailing = Pattern.begin("a").not_followed_by("b").where("x = 2").within(10).automaton()
    assert "END once not_followed_by x = 2" in str(trailing)
    passed_by = Pattern.begin("a").not_followed_by("b").where("x = 2").followed_by("c").optional().automaton()
    assert passed_by.positions[1].accepts


def test_too_many_states_are_refused_by_name() -> None:
    group = Pattern.begin("a").times(300)
    with pytest.raises(MalformedPatternError, match=r"the pattern unrolls to more than 50000 states"):
        Pattern.begin(group).times(300).automaton()


def test_a_long_loop_is_built_in_linear_time() -> None:
    begun = time.process_time()
    counted = Pattern.begin("a").where("x = 1").times(3_000).followed_by("b").automaton()
    ranged = Pattern.begin("a").where("x = 1").times(1, 3_000).greedy().followed_by("b").automaton()
    assert (len(counted.positions), len(ranged.positions)) == (3_002, 3_002)
    assert time.process_time() - begun < 10  # a quadratic construction takes minutes


def test_a_greedy_loop_is_the_rival_of_a_way_once() -> None:
    looped = Pattern.begin(Pattern.begin("a").times(0, 3).greedy().next("b").optional()).one_or_more().automaton()
    for position in looped.positions:
        assert len(set(position.rivals)) == len(position.rivals)
        assert all(len(set(way.greedy)) == len(way.greedy) for way in position.continuations)


def test_one_of_looks_at_all_openers_and_keeps_the_order_of_alternatives() -> None:
    choice = one_of(Pattern.begin("c").where("x = 3"), Pattern.begin("b").where("x = 2"))
    automaton = Pattern.begin("a").followed_by(choice).automaton()
    first, second = automaton.positions[1].continuations
    assert [automaton.variables[way.take.variable] for way in (first, second)] == ["c", "b"]
    assert (first.take.openers, second.take.openers) == ((second.take.predicate,), (first.take.predicate,))
    strict = Pattern.begin("a").next(choice).automaton()
    assert all(way.take.openers == () for way in strict.positions[1].continuations)


def test_all_of_has_a_position_for_each_set_of_members() -> None:
    names = "abcdefghij"
    members = [Pattern.begin(name).where(f"x = {number}") for number, name in enumerate(names)]
    automaton = Pattern.begin(all_of(*members)).automaton()
    assert len(automaton.positions) == 2**10
    some = Pattern.begin(all_of(*members, at_least=2)).automaton()
    assert len(some.positions) == 1 + 10 + 1


def test_predicates_of_several_automata_share_a_table() -> None:
    one = Pattern.begin("a").where("x = 1").followed_by("b").where("x = 2").automaton()
    other = Pattern.begin("c").where("x = 2").followed_by("d").where("x = 3").automaton()
    shared = PredicateTable()
    assert (shared.add(one.predicates), shared.add(other.predicates)) == ((0, 1), (1, 2))
    assert [str(predicate) for predicate in shared] == ["x = 1", "x = 2", "x = 3"]
