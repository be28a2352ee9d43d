"""Lists that hold runs, as bits: patterns with more than 64 positions, whose lists fill several words."""

from __future__ import annotations

import random

import numba
import numpy as np
import pytest
from engine.kernel_answers import outcome_in_little_memory, outcome_in_parts, outcome_of
from engine.test_kernel import reference_outcome, table_of
from engine.test_state import automaton_of

from cepheid import Pattern, all_of
from cepheid.engine.kernel import layout as l
from cepheid.engine.kernel.compiling import INTERPRETED, lowest
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.tabulate import tabulate
from cepheid.reference.outcome import Outcome

NAMES = "abcdefg"
MEMBERS = [Pattern.begin(name).where(f"name = '{name}' OR price = {number}") for number, name in enumerate(NAMES)]
SEVEN = Pattern.begin(all_of(*MEMBERS, at_least=4))
FOLLOWED = SEVEN.next("x").where("price < 7").followed_by_any("y").where("price > LAST(x.price)")
PATTERNS = {
    "no skip": SEVEN.within(7),
    "past last event": SEVEN.within(9).skip("past_last_event"),
    "without a window": SEVEN.skip("past_last_event"),
    "to next": FOLLOWED.within(12).skip("to_next"),
    "strict": FOLLOWED.within(12),
    "not at the end": SEVEN.not_followed_by("n").where("name = 'g'").within(9),
    "not before": Pattern.not_before("n")
    .where("name = 'g'")
    .begin(all_of(*MEMBERS, at_least=4))
    .within(8)
    .skip("past_last_event"),
}


def test_the_lowest_bit_is_found() -> None:
    """By the processor, and by Python where nothing is compiled."""

    @numba.njit
    def by_processor(word):  # type: ignore[no-untyped-def]
        return lowest(word)

    [by_python] = [interpreted for intrinsic, interpreted in INTERPRETED if intrinsic is lowest]
    chance = random.Random(1)
    for place in range(64):
        for word in (1 << place, (1 << 64) - (1 << place), chance.getrandbits(63 - place) << place + 1 | 1 << place):
            for find in (by_processor, by_python):
                assert find(np.uint64(word & 2**64 - 1)) == place


@pytest.mark.parametrize("name", PATTERNS)
def test_a_bit_concerns_the_positions_that_are_interested_in_it(name: str) -> None:
    arrays = tabulate(automaton_of(PATTERNS[name].tree), Options()).arrays
    assert len(arrays.positions) > 64
    for position, wanted in enumerate(arrays.interest.tolist()):
        page = int(arrays.positions[position, l.S_PAGE])
        words = arrays.concerned[64 * page : 64 * page + 64, position // 64].tolist()
        assert wanted == sum(1 << bit for bit in range(64) if words[bit] >> position % 64 & 1)


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("seed", range(4))
def test_kernel_and_reference_agree_beyond_a_word(name: str, seed: int) -> None:
    tree = PATTERNS[name].check().tree
    automaton = automaton_of(tree)
    chance = random.Random(f"{name} {seed}")
    stream = [(chance.randrange(3), chance.choice(NAMES + "zz"), chance.choice([*range(9), None])) for _ in range(24)]
    table = table_of(stream, 0)
    expected = reference_outcome(tree, table, None, True)
    assert expected.matches
    for answer in (outcome_of, outcome_in_little_memory(chance), outcome_in_parts(chance)):
        for options in (Options(), Options(compact=False), Options(timeouts=True)):
            timeouts = expected.timeouts if options.timeouts else ()
            assert answer(automaton, table, options, None, True) == Outcome(expected.matches, timeouts)
