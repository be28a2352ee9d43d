"""No index of the kernel counts from the end: its machine code does not allow for that (`kernel.linking`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conformance import run as conformance
from engine.test_state import automaton_of

from cepheid import Pattern
from cepheid.engine.counts import Summed
from cepheid.engine.kernel.cohort_layout import COHORT_WIDTHS
from cepheid.engine.kernel.entrances import Entrance, patience
from cepheid.engine.kernel.layout import WIDTHS
from cepheid.engine.runs.cohort_pool import new_cohort_pool
from cepheid.engine.runs.pool import Growth, grown, new_pool
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.tabulate import tabulate

CORPORA = Path(conformance.__file__).parent
A_THEN_B = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b' AND price > LAST(a.price)")
EVERY = 7
"""One case of so many, as Python runs the kernel here."""


class FromTheStart(np.ndarray[Any, Any]):
    """An array that refuses numbers below 0 as indices."""

    def __getitem__(self, index: Any) -> Any:
        _check(index)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _check(index)
        super().__setitem__(index, value)


def _check(index: Any) -> None:
    for one in index if isinstance(index, tuple) else (index,):
        if isinstance(one, int | np.integer) and one < 0:
            raise IndexError(f"an index of the kernel is {one}")


def _guarded(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return argument.view(FromTheStart)
    if isinstance(argument, tuple):
        return type(argument)(*map(_guarded, argument))
    return argument


@pytest.fixture(autouse=True)
def _by_python_on_guarded_arrays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    by_python = Entrance._by_python

    def guarded(self: Entrance, arguments: tuple[Any, ...]) -> Any:
        return by_python(self, tuple(map(_guarded, arguments)))

    monkeypatch.setattr(Entrance, "_by_python", guarded)
    monkeypatch.setattr(Entrance, "is_at_hand", lambda *_: False)
    with patience(float("inf")):
        yield


@pytest.mark.parametrize("corpus", ["probes", "extra", "flink-tests", "more-probes", "corner-probes"])
@pytest.mark.parametrize("engine", ["kernel", "operator"])
def test_no_index_counts_from_the_end(corpus: str, engine: str) -> None:
    cases = list(conformance.read(CORPORA / f"{corpus}.jsonl"))[::EVERY]
    assert not conformance.run(cases, conformance.ENGINES[engine]).problems


@pytest.mark.parametrize("engine", ["sql-kernel", "sql-bucket"])
def test_nor_in_row_patterns(engine: str) -> None:
    cases = conformance.read_sql(CORPORA / "sql" / "probes.jsonl.gz")[::EVERY]
    assert not conformance.run_sql(cases, conformance.SQL_ENGINES[engine]).problems


def test_one_that_does_is_noticed() -> None:
    with pytest.raises(IndexError, match="is -1"):
        np.zeros((2, 2)).view(FromTheStart)[1, -1]


@pytest.mark.parametrize("pattern", [A_THEN_B, A_THEN_B.within(5), A_THEN_B.not_followed_by("c").within(5)])
@pytest.mark.parametrize("timeouts", [False, True])
def test_arrays_are_as_wide_as_machine_code_takes_for_granted(pattern: Pattern, timeouts: bool) -> None:
    tables = tabulate(automaton_of(pattern.tree), Options(timeouts=timeouts))
    summed = Summed(np.array([0, 1]), np.array([False, True]), np.zeros((9, 2), np.int64))
    pools = [new_pool(tables, 3), grown(new_pool(tables), Growth(2, 2))]
    pools += [new_cohort_pool(tables, 64), new_cohort_pool(tables, 64, summed, 3)]
    for arrays in (tables.arrays, *pools):
        widths = (WIDTHS | COHORT_WIDTHS)[type(arrays).__name__]
        assert {name: getattr(arrays, name).shape[1] for name in widths} == widths
