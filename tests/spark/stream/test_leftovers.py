"""Broken runs and unmatched rows of streams are those of batches, each told once, however the state is read back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark.sql.streaming.tws_tester", reason="Spark's tester of stateful operators came with 4.2")

from spark.stream.test_operator import (
    A_B,
    TWO,
    WORKERS,
    as_they_arrive,
    ends_as_batch_does,
    event,
    events,
    milliseconds,
    play,
    stream_of,
    table,
    timed,
)
from syntax.strategies import patterns

from cepheid import Pattern, skip
from cepheid.engine.tables.representation import NotCompiled
from cepheid.errors import LimitError, SkipError
from cepheid.spark.stream.state import leftovers
from cepheid.spark.stream.state import store as streaming_store
from cepheid.syntax.tree import PatternTree


def _sorted(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, rows))


@given(patterns(), events, st.lists(st.integers(1, 6), max_size=8), st.integers(0, 6), WORKERS)
def test_a_stream_leaves_over_what_a_batch_does(
    tree: PatternTree,
    given_events: list[tuple[int, str, int, str, int]],
    sizes: list[int],
    delay: int,
    workers: int,
) -> None:
    tree, rows = timed(tree), as_they_arrive(given_events)
    try:
        stream = stream_of(tree, False, workers=workers, leftovers=True)
        latest = play(stream, rows, sizes, delay)
    except (NotCompiled, SkipError):
        return
    late = {row["id"] for row in stream.found["late"]}
    in_time = [row for row in rows if row["id"] not in late]
    if not in_time:
        assert stream.found["broken"] == stream.found["unmatched"] == []
        return
    whole = Pattern(tree).match_events(table(in_time), partition_by="key", order_by=["ts", "id"])
    if ends_as_batch_does(tree, in_time, latest - delay):
        assert _sorted(stream.found["broken"]) == _sorted(whole.broken)
    if tree.window is not None:
        assert _sorted(stream.found["unmatched"]) == _sorted(whole.unmatched)


def test_a_row_is_unmatched_once_the_window_after_it_is_over() -> None:
    stream = stream_of(A_B.tree, leftovers=True)
    stream.batch(table([event(1, 1, "a"), event(2, 2, "x"), event(3, 3, "b"), event(4, 4, "a")]), 0)
    stream.batch(table([]), milliseconds(11.999))
    assert stream.found["unmatched"] == []
    stream.batch(table([]), milliseconds(12))
    assert [row["id"] for row in stream.found["unmatched"]] == [2]
    stream.batch(table([]), milliseconds(20))
    assert [row["id"] for row in stream.found["unmatched"]] == [2, 4]


def test_where_the_window_counts_events_so_many_later_ones_decide() -> None:
    pattern = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b'").within(events=2)
    stream = stream_of(pattern.tree, leftovers=True)
    stream.batch(table([event(time, time, name) for time, name in enumerate("axab", 1)]), 0)
    stream.batch(table([event(1, 9, "a", key="other")]), milliseconds(4))
    assert [row["id"] for row in stream.found["unmatched"]] == [1, 2]
    stream.end()
    assert sorted(row["id"] for row in stream.found["unmatched"]) == [1, 2]


def test_a_broken_run_is_told_with_the_event_and_the_reason() -> None:
    pattern = (
        Pattern.begin("a").where("name = 'a'").not_followed_by("no").where("name = 'x'")
        .followed_by("b").where("name = 'b'").within("10 seconds").skip(skip.past_last_event)
    )  # fmt: skip
    stream = stream_of(pattern.tree, leftovers=True, workers=0)
    stream.batch(table([event(1, 1, "a"), event(2, 2, "c"), event(3, 3, "x"), event(4, 4, "a")]), 0)
    stream.batch(table([event(5, 5, "b")]), milliseconds(4))
    [row] = stream.found["broken"]
    assert (row["reason"], row["waited_for"], row["event"]["id"]) == ("not violated", "b", 3)
    assert [step["variable"] for step in row["taken"]] == ["a"]
    stream.batch(table([]), milliseconds(5))
    assert len(stream.found["matches"]) == len(stream.found["broken"]) == 1


def test_keys_without_runs_are_not_followed_any_more() -> None:
    stream = stream_of(A_B.tree, leftovers=True, buckets=1)
    stream.batch(table([event(second, second, "ax"[second % 2], key=f"k{second}") for second in range(20)]), 0)
    stream.batch(table([]), milliseconds(40))
    last = next(reversed(streaming_store._MEMORY.values()))
    assert not last.bucket.leftovers._followers and not last.bucket.leftovers._recent.num_rows


def test_rejected_rows_are_not_unmatched_as_well() -> None:
    stream = stream_of(TWO.tree, buckets=1, leftovers=True, on_error="skip_key", max_matches_per_event=2)
    stream.batch(table([event(second, second, "a", key="p") for second in (1, 2, 3)]), 0)
    stream.batch(table([event(4, 4, "b", key="p"), event(4, 5, "x")]), milliseconds(3))
    stream.batch(table([]), milliseconds(6))
    streaming_store._MEMORY.clear()
    stream.end()
    told = [row["id"] for kind in ("rejected", "unmatched") for row in stream.found[kind]]
    assert sorted(told) == [1, 2, 3, 4, 5]


def test_too_many_runs_to_follow_stop_the_query_and_name_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "MOST_RUNS", 5)
    stream = stream_of(A_B.tree, leftovers=True)
    rows = [
        event(0, number, "a", key="p") | {"ts": event(0, 0, "a")["ts"] + timedelta(milliseconds=number)}
        for number in range(9)
    ]
    stream.batch(table(rows), 0)
    with pytest.raises(LimitError, match=r"broken: .*key = 'p'(?s:.*)leave the output broken out"):
        stream.batch(table([]), milliseconds(5))
