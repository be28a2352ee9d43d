"""The kernel against the reference: random patterns and streams, all options, and the corner cases by name."""

from __future__ import annotations

import pyarrow as pa
import pytest
from engine.kernel_answers import kernel_outcome
from hypothesis import given, settings
from hypothesis import strategies as st
from syntax.strategies import patterns

from cepheid import EvaluationError, LimitError, Pattern, SkipError
from cepheid.automaton.construction import build
from cepheid.conditions import Schema, bind
from cepheid.engine import matcher
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.representation import NotCompiled
from cepheid.reference.online import OnlineEvaluator
from cepheid.reference.outcome import Outcome
from cepheid.syntax.tree import PatternTree

SCHEMA = pa.schema([("t", pa.int64()), ("name", pa.string()), ("price", pa.int64())])
Stream = list[tuple[int, str, int | None]]

starts = st.sampled_from([0, 0, -5, -(2**63), 2**62])
streams: st.SearchStrategy[Stream] = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("abcd"), st.one_of(st.integers(0, 9), st.none())), max_size=12
)


def table_of(stream: Stream, start: int) -> pa.Table:
    time = start
    rows = []
    for step, name, price in stream:
        time += step
        rows.append({"t": time, "name": name, "price": price})
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def reference_outcome(tree: PatternTree, table: pa.Table, advance_to: int | None, end_of_input: bool) -> Outcome:
    evaluator = OnlineEvaluator(build(tree, bind(tree, Schema.from_arrow(table.schema))))
    for row in table.to_pylist():
        evaluator.handle(row, row["t"])
    if advance_to is not None:
        evaluator.advance_time(advance_to)
    if end_of_input:
        evaluator.end_of_input()
    return Outcome(tuple(evaluator.matches), tuple(evaluator.timeouts))


@settings(max_examples=max(400, settings().max_examples))
@given(
    st.one_of(patterns(), patterns(beyond=True)),
    streams,
    starts,
    st.sampled_from(["nothing", "advance", "end"]),
    st.integers(0, 20),
    st.booleans(),
)
def test_kernel_and_reference_agree(
    tree: PatternTree, stream: Stream, start: int, finish: str, further: int, dominance: bool
) -> None:
    table = table_of(stream, start)
    advance_to = (table["t"][-1].as_py() if stream else 0) + further if finish == "advance" else None
    end = finish == "end"
    for timeouts in (False, True):
        options = Options(timeouts=timeouts, dominance=dominance)
        try:
            found: object = kernel_outcome(tree, table, options, advance_to, end)
        except NotCompiled:
            return
        except SkipError:
            found = SkipError
        try:
            expected: object = reference_outcome(tree, table, advance_to, end)
            if not timeouts:
                assert isinstance(expected, Outcome)
                expected = Outcome(expected.matches, ())
        except SkipError:
            expected = SkipError
        assert found == expected


@settings(max_examples=100)
@given(patterns(beyond=True), streams)
def test_memory_that_must_grow_changes_nothing(tree: PatternTree, stream: Stream) -> None:
    table = table_of(stream, 0)
    options = Options(timeouts=True)
    try:
        roomy = kernel_outcome(tree, table, options, end_of_input=True)
    except (NotCompiled, SkipError):
        return
    few, matcher.FEWEST = matcher.FEWEST, 8
    try:
        assert kernel_outcome(tree, table, options, end_of_input=True) == roomy
    finally:
        matcher.FEWEST = few


def outcome(pattern: Pattern, text: str, **options: object) -> list[str]:
    """Matches on events such as `a1 b2`: a name and a time."""
    rows = [{"t": int(event[1:]), "name": event[0], "price": 0} for event in text.split()]
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    found = kernel_outcome(pattern.tree, table, Options(**options), end_of_input=True)  # type: ignore[arg-type]
    return [" ".join(f"{rows[index]['name']}{rows[index]['t']}" for index, _ in match.taken) for match in found.matches]


def is_(name: str) -> str:
    return f"name = '{name}'"


@pytest.mark.parametrize("dominance", [False, True])
def test_a_bound_since_the_previous_event_keeps_runs_apart(dominance: bool) -> None:
    pattern = Pattern.begin("a").where(is_("a")).followed_by_any("b").where(is_("b")).followed_by("c").where(is_("c"))
    pattern = pattern.within(2, since="previous").skip("past_last_event")
    assert outcome(pattern, "a1 b2 b5 c6", dominance=dominance) == ["a1 b5 c6"]


def test_limits_name_the_place_and_the_remedy() -> None:
    waiting = Pattern.begin("a").where(is_("a")).followed_by("b").where(is_("b"))
    with pytest.raises(
        LimitError,
        match=r"(?s)partition 0, event 3: 4 partial matches wait, most of them for 'b'; max_runs is 3.*window",
    ):
        outcome(waiting, "a1 a2 a3 a4 a5", max_runs=3, compact=False)
    with pytest.raises(LimitError, match=r"(?s)event 3: 3 matches end here; max_matches_per_event is 2.*skip"):
        outcome(waiting, "a1 a2 a3 b4", max_matches_per_event=2, compact=False)


def test_runs_out_of_their_window_do_not_count_as_waiting() -> None:
    pattern = Pattern.begin("a").where(is_("a")).followed_by("b").where(is_("b")).within(2)
    stream = " ".join(f"a{time}" for time in range(1, 200))
    for compact in (False, True):
        assert outcome(pattern, stream + " b200", max_runs=3, compact=compact) == ["a199 b200"]


@pytest.mark.parametrize(
    ("condition", "price", "error"),
    [
        ("SUM(a.price) + price > 0", 2**63 - 1, "overflow"),
        ("price * LAST(a.price) > 0", 2**62, "overflow"),
        ("price % (LAST(a.price) - price) = 0", 5, "division by zero"),
    ],
)
def test_arithmetic_that_fails_raises(condition: str, price: int, error: str) -> None:
    pattern = Pattern.begin("a").next("b").where(condition)
    table = pa.Table.from_pylist(
        [{"t": 1, "name": "a", "price": price}, {"t": 2, "name": "a", "price": price}], schema=SCHEMA
    )
    with pytest.raises(EvaluationError, match=rf"(?s)element 'b': {error}.*in: "):
        kernel_outcome(pattern.tree, table, Options())


def test_once_per_reports_the_first_match_at_any_time() -> None:
    tree = Pattern.begin("a").once_per(5).tree
    for start in (-(2**63), 0, 2**62):
        table = table_of([(0, "a", 0), (4, "a", 0), (1, "a", 0)], start)
        found = kernel_outcome(tree, table, Options())
        assert [match.taken[0][0] for match in found.matches] == [0, 2]
