"""Random patterns with nots: the definition, the reference, the engine, and a stream in parts say the same."""

from __future__ import annotations

from itertools import pairwise

from engine.kernel_answers import kernel_outcome
from engine.test_kernel import SCHEMA, Stream, reference_outcome, streams, table_of
from engine.test_state import Rows, automaton_of, named
from hypothesis import given, settings
from hypothesis import strategies as st
from syntax.strategies import negation_patterns

from cepheid import SkipError
from cepheid.conditions import Schema, bind
from cepheid.engine.columns import columns
from cepheid.engine.matcher import match_partitions
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.representation import NotCompiled
from cepheid.engine.tables.tabulate import tabulate
from cepheid.reference import definition
from cepheid.reference.outcome import Outcome
from cepheid.rows.arrange import arrange
from cepheid.syntax.tree import PatternTree

finishes = st.sampled_from(["nothing", "advance", "end"])


@settings(max_examples=max(150, settings().max_examples))
@given(negation_patterns(), streams, finishes, st.integers(0, 20))
def test_definition_reference_and_engine_agree(tree: PatternTree, stream: Stream, finish: str, further: int) -> None:
    table = table_of(stream, 0)
    rows = table.to_pylist()
    times = [row["t"] for row in rows]
    advance_to = (times[-1] if times else 0) + further if finish == "advance" else None
    is_end = finish == "end"
    try:
        expected: object = definition.evaluate(
            tree, bind(tree, Schema.from_arrow(SCHEMA)), rows, times, advance_to=advance_to, end_of_input=is_end
        )
    except SkipError:
        expected = SkipError
    try:
        online: object = reference_outcome(tree, table, advance_to, is_end)
    except SkipError:
        online = SkipError
    assert online == expected
    for timeouts in (False, True):
        try:
            found: object = kernel_outcome(tree, table, Options(timeouts=timeouts), advance_to, is_end)
        except NotCompiled:
            return
        except SkipError:
            found = SkipError
        if not timeouts and isinstance(expected, Outcome):
            assert found == Outcome(expected.matches, ())
        else:
            assert found == expected


@settings(max_examples=max(100, settings().max_examples))
@given(negation_patterns(), streams, st.sets(st.integers(1, 11)), st.booleans())
def test_a_stream_in_parts_gives_the_same(tree: PatternTree, stream: Stream, cuts: set[int], timeouts: bool) -> None:
    table = table_of(stream, 0)
    try:
        tables = tabulate(automaton_of(tree), Options(timeouts=timeouts))
    except NotCompiled:
        return
    events = arrange(table, (), ("t",))
    rows = Rows(tables, saves=True)
    try:
        whole = match_partitions(tables, columns(events, tables), events.bounds)
        for begin, end in pairwise([0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]):
            rows.feed(table.slice(begin, end - begin), begin, 0)
        rows.end()
    except SkipError:
        return
    assert rows.matches == named(whole[0], tables.automaton, range(len(stream)))
    assert rows.timeouts == named(whole[1], tables.automaton, range(len(stream)))
