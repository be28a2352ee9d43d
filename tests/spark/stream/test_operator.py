"""Streams cut into micro-batches, out of order, through the stateful operator: the same as batch, and nothing lost."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark.sql.streaming.tws_tester", reason="Spark's tester of stateful operators came with 4.2")

from spark.stream.operator_stream import OperatorStream, kept_in, rows_kept
from syntax.strategies import patterns

from cepheid import Pattern, skip
from cepheid.engine.runs.live import count_live
from cepheid.engine.tables.representation import NotCompiled
from cepheid.errors import LimitError, SkipError, StateError
from cepheid.spark.stream.accounts import COUNTED
from cepheid.spark.stream.checkpoint.identity import Identity
from cepheid.spark.stream.state import store as streaming_store
from cepheid.spark.stream.state.bucket import BucketRuns
from cepheid.spark.stream.state.pending import slots_of
from cepheid.spark.stream.state.saved import SavedValues
from cepheid.spark.stream.state.saved import saved_buckets as checkpointed
from cepheid.spark.stream.state.store import BucketStore
from cepheid.spark.stream.state.values import BASE, HEAD
from cepheid.syntax.tree import EventCount, PatternTree
from cepheid.syntax.windows import lengths

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("ts", pa.timestamp("us")),
        ("id", pa.int64()),
        ("name", pa.string()),
        ("price", pa.int64()),
    ]
)
BEGIN = datetime(2025, 1, 1)
BEGIN_MS = 1_735_689_600_000
A_B = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b'").within("10 seconds")


def event(second: float, id: int, name: str, key: str = "k", price: int = 0) -> dict[str, Any]:
    return {"key": key, "ts": BEGIN + timedelta(seconds=second), "id": id, "name": name, "price": price}


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def stream_of(tree: PatternTree, timeouts: bool = True, **more: Any) -> OperatorStream:
    return OperatorStream(tree, SCHEMA, ["key"], ["ts", "id"], timeouts, **more)


def ids(matches: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return sorted((match["a"]["id"], match["b"]["id"]) for match in matches)


def milliseconds(second: float) -> int:
    return BEGIN_MS + int(1000 * second)


WORKERS = st.integers(0, 3)
events = st.lists(
    st.tuples(
        st.integers(0, 30), st.sampled_from("abcd"), st.integers(0, 9), st.sampled_from("xyz"), st.integers(0, 8)
    ),
    min_size=1,
    max_size=14,
)


def timed(tree: PatternTree) -> PatternTree:
    from conformance.streams import in_time

    return in_time(tree)


def as_they_arrive(given_events: list[tuple[int, str, int, str, int]]) -> list[dict[str, Any]]:
    """Rows of (milliseconds, name, price, key, how late), in the order in which they come."""
    rows = [
        {
            "key": key,
            "ts": BEGIN + timedelta(milliseconds=time),
            "id": number,
            "name": name,
            "price": price,
            "arrival": time + wait,
        }
        for number, (time, name, price, key, wait) in enumerate(given_events)
    ]
    rows.sort(key=lambda row: row.pop("arrival"))
    return rows


def play(stream: OperatorStream, rows: list[dict[str, Any]], sizes: list[int], delay: int) -> int:
    """All rows in micro-batches of these sizes, and the end of the input. Returns the latest time."""
    before = streaming_store.SMALL_JOURNAL, streaming_store.PIECE
    streaming_store.SMALL_JOURNAL, streaming_store.PIECE = 2_000, 1_500  # so that there are bases and pieces, too
    try:
        begin, latest = 0, 0
        for size in [*sizes, len(rows)]:
            part = rows[begin : begin + size]
            stream.batch(table(part), latest - delay if latest else 0)
            latest = max([latest, *(round((row["ts"] - BEGIN) / timedelta(milliseconds=1)) + BEGIN_MS for row in part)])
            begin += size
        stream.batch(table([]), latest - delay)
        assert_all_accounted(stream, len(rows))
        stream.end()
        return latest
    finally:
        streaming_store.SMALL_JOURNAL, streaming_store.PIECE = before


def ends_as_batch_does(tree: PatternTree, in_time: list[dict[str, Any]], watermark: int) -> bool:
    """The end of the input comes where time is (rules 6 and 10). On a stream that is the watermark, which other keys
    may have moved further than the key's own last event; batch knows only that one. In between, a count window does not
    end yet, and windows since a previous event may, before the end decides matches that forbid their timeouts."""
    last = {row["key"]: row["ts"] for row in sorted(in_time, key=lambda row: row["ts"])}
    has_one_window = not isinstance(tree.window, EventCount) and all(
        span is tree.window for span, _, _ in lengths(tree)
    )
    return has_one_window or min(last.values()) >= BEGIN + timedelta(milliseconds=watermark - BEGIN_MS)


@given(
    patterns(),
    events,
    st.lists(st.integers(1, 6), max_size=8),
    st.integers(0, 6),
    st.booleans(),
    WORKERS,
    st.booleans(),
)
def test_any_disorder_and_any_split_give_what_batch_gives(
    tree: PatternTree,
    given_events: list[tuple[int, str, int, str, int]],
    sizes: list[int],
    delay: int,
    timeouts: bool,
    workers: int,
    early: bool,
) -> None:
    """Late events excepted: they are told, and batch runs without them. Every event is accounted for. `early`: what the
    next watermark will pass is handled at once."""
    tree, rows = timed(tree), as_they_arrive(given_events)
    try:
        stream = stream_of(tree, timeouts, workers=workers, lag_ms=delay if early else None)
        latest = play(stream, rows, sizes, delay)
    except (NotCompiled, SkipError):
        return
    late = {row["id"] for row in stream.found["late"]}
    in_time = [row for row in rows if row["id"] not in late]
    assert len(stream.found["late"]) == len(late)
    assert_all_accounted(stream, len(rows))
    if not in_time:
        assert stream.found["matches"] == stream.found["timeouts"] == []
        return
    whole = Pattern(tree).match_events(table(in_time), partition_by="key", order_by=["ts", "id"])
    assert sorted(row["match_id"] for row in stream.found["matches"]) == sorted(
        row["match_id"] for row in whole.matches
    )
    if timeouts:
        if not ends_as_batch_does(tree, in_time, latest - delay):
            return
        is_timed = not isinstance(tree.window, EventCount)
        found, expected = (
            sorted((row["match_id"], row["at"] if is_timed else None) for row in rows)
            for rows in (stream.found["timeouts"], whole.timeouts)
        )
        assert found == expected


def test_an_error_at_the_end_names_the_key_of_an_event_that_waited() -> None:
    skips_to_its_start = Pattern.begin("a").not_next("b").where("name = 'b'").skip(skip.to_first("a", or_fail=True))
    stream = stream_of(skips_to_its_start.tree)
    stream.batch(table([event(1, 1, "a", key="watch")]), 0)
    with pytest.raises(SkipError, match="key = 'watch', skip to_first"):
        stream.end()


def test_an_event_waits_for_the_watermark() -> None:
    stream = stream_of(A_B.tree)
    stream.batch(table([event(5, 2, "b"), event(1, 1, "a")]), 0)
    assert stream.counts[-1]["pending"] == 2
    stream.batch(table([]), milliseconds(4.999))
    assert stream.found["matches"] == []
    stream.batch(table([]), milliseconds(5))
    [match] = stream.found["matches"]
    assert (match["a"]["id"], match["b"]["id"], match["at"]) == (1, 2, BEGIN + timedelta(seconds=5))


def test_what_the_next_watermark_passes_is_handled_at_once() -> None:
    """Its own events tell a bucket where the watermark will be at least. What comes behind that is late, as ever."""
    stream = stream_of(A_B.tree, buckets=1, lag_ms=2_000)
    stream.batch(table([event(6, 3, "c"), event(4, 2, "b"), event(1, 1, "a"), event(4.001, 4, "b")]), 0)
    [match] = stream.found["matches"]
    assert (match["a"]["id"], match["b"]["id"], match["at"]) == (1, 2, BEGIN + timedelta(seconds=4))
    assert stream.counts[-1]["pending"] == 2
    stream.batch(table([event(4, 5, "b"), event(4.5, 6, "a")]), milliseconds(4))
    assert [row["id"] for row in stream.found["late"]] == [5]
    stream.batch(table([]), milliseconds(20))
    assert len(stream.found["matches"]) == 1
    assert [timeout["a"]["id"] for timeout in stream.found["timeouts"]] == [6]


def test_a_key_without_further_events_times_out_by_the_watermark() -> None:
    stream = stream_of(A_B.tree)
    stream.batch(table([event(1, 1, "a", key="idle")]), 0)
    stream.batch(table([event(30, 2, "c", key="busy")]), milliseconds(1))
    assert stream.found["timeouts"] == []
    stream.batch(table([]), milliseconds(11))
    [timeout] = stream.found["timeouts"]
    assert (timeout["key"], timeout["at"]) == ("idle", BEGIN + timedelta(seconds=11))


def test_a_not_at_the_end_is_decided_by_the_watermark() -> None:
    quiet = Pattern.begin("a").where("name = 'a'").not_followed_by("b").where("name = 'b'").within("10 seconds")
    stream = stream_of(quiet.tree, timeouts=False)
    stream.batch(table([event(1, 1, "a", key="idle")]), 0)
    stream.batch(table([]), milliseconds(11))
    assert [match["a"]["id"] for match in stream.found["matches"]] == [1]


def test_late_rows_come_out_and_change_nothing() -> None:
    stream = stream_of(A_B.tree)
    stream.batch(table([event(1, 1, "a")]), 0)
    stream.batch(table([event(5, 2, "b"), event(5.001, 3, "b")]), milliseconds(5))
    assert [row["id"] for row in stream.found["late"]] == [2]
    stream.batch(table([]), milliseconds(6))
    assert [match["b"]["id"] for match in stream.found["matches"]] == [3]


def test_keys_that_are_over_are_forgotten() -> None:
    for timeouts in (False, True):
        stream = stream_of(A_B.tree, timeouts=timeouts, buckets=1, workers=0)
        before = streaming_store.SMALL_JOURNAL
        streaming_store.SMALL_JOURNAL = 20_000
        try:
            sizes = []
            for second in range(0, 2_000, 20):
                rows = [event(second, second * 100 + n, "a", key=f"{second}-{n}") for n in range(20)]
                stream.batch(table(rows), milliseconds(second - 1) if second else 0)
                sizes.append(stream.counts[-1]["state_bytes"])
        finally:
            streaming_store.SMALL_JOURNAL = before
        assert max(sizes[50:]) <= 1.3 * max(sizes[:50])  # 20 new keys a step, no more state
        assert stream.counts[-1]["runs"] <= 2 * 20 + 1_100


def saved(stream: OperatorStream) -> dict[Any, Any]:
    """The values of the only bucket."""
    [values] = kept_in(stream.tester).values()
    return values


def damaged(stream: OperatorStream) -> None:
    streaming_store._MEMORY.clear()
    stream.batch(table([event(20, 9, "a")]), milliseconds(5))


def test_damaged_state_is_noticed() -> None:
    def new() -> OperatorStream:
        stream = stream_of(A_B.tree, buckets=1)
        stream.batch(table([event(1, 1, "a")]), 0)
        return stream

    stream = new()
    values, step = saved(stream), (1, 0)
    (entry,) = values[step]
    values[step] = (entry[:-3],)
    with pytest.raises(StateError, match=r"incomplete: a piece of step 1 in the journal of bucket 0 is missing"):
        damaged(stream)
    for length, told in ((0, "damaged"), (15, "damaged"), (25, "missing")):  # not even a header
        values[step] = (entry[:length],)
        with pytest.raises(StateError, match=rf"step 1 in the journal of bucket 0 is {told}"):
            damaged(stream)
    values[step] = (entry[:60] + bytes([entry[60] ^ 1]) + entry[61:],)
    with pytest.raises(StateError, match=r"step 1 in the journal of bucket 0 is damaged"):
        damaged(stream)
    del values[step]
    with pytest.raises(StateError, match=r"incomplete: step 1 in the journal of bucket 0 is missing"):
        damaged(stream)
    stream = new()
    saved(stream)[HEAD, 0] = (b"something else",)
    with pytest.raises(StateError, match=r"the state of bucket 0 is damaged"):
        damaged(stream)


def test_a_damaged_base_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming_store, "SMALL_JOURNAL", 0)  # every step writes a base
    monkeypatch.setattr(streaming_store, "PIECE", 1_000)
    stream = stream_of(A_B.tree, buckets=1)
    stream.batch(table([event(1, number, "a", key=f"k{number}") for number in range(9)]), 0)
    base = saved(stream)
    good = {place: value for place, value in base.items() if place[0] == BASE}
    assert len(good) > 1
    [first, last] = [min(good), max(good)]
    for piece, spoilt, told in (
        (last, good[last][0][:-1], "incomplete: a piece of the base of bucket 0 is missing"),
        (first, b"", "the base of bucket 0 is damaged"),
        (last, good[last][0][:-1] + bytes([good[last][0][-1] ^ 1]), "the base of bucket 0 is damaged"),
        (last, None, "incomplete: a piece of the base of bucket 0 is missing"),
    ):
        base.update(good)
        if spoilt is None:
            del base[piece]
        else:
            base[piece] = (spoilt,)
        with pytest.raises(StateError, match=told):
            damaged(stream)
    base.update(good)
    damaged(stream)
    assert stream.counts[-1]["runs"] == 9


@pytest.mark.parametrize("piece", [30, 400], ids=["the header is longer", "several parts"])
def test_a_missing_piece_of_an_entry_is_noticed(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming_store, "PIECE", piece)
    stream = stream_of(A_B.tree, buckets=1)
    stream.batch(table([event(1, number, "a", key=f"k{number}") for number in range(9)]), 0)
    journal = saved(stream)
    good = {place: value for place, value in journal.items() if place[0] == 1}
    assert len(good) > 2
    for place, (value,) in good.items():
        if place[1]:
            journal.update(good)
            del journal[place]
            with pytest.raises(
                StateError, match=r"incomplete: a piece of step 1 in the journal of bucket 0 is missing"
            ):
                damaged(stream)
        journal.update(good)
        journal[place] = (value[:-1] + bytes([value[-1] ^ 1]),)
        with pytest.raises(StateError, match=r"step 1 in the journal of bucket 0 is (damaged|missing)"):
            damaged(stream)
    journal.update(good)
    damaged(stream)
    assert stream.counts[-1]["runs"] == 9


def test_a_worker_that_did_not_do_the_last_step_catches_up() -> None:
    stream = stream_of(A_B.tree, buckets=1)
    stream.batch(table([event(1, 1, "a")]), 0)
    older = dict(streaming_store._MEMORY)
    streaming_store._MEMORY.clear()
    stream.batch(table([event(3, 2, "a")]), 0)
    streaming_store._MEMORY.clear()
    streaming_store._MEMORY.update(older)  # the other worker's memory: one step behind
    stream.batch(table([event(5, 3, "b")]), milliseconds(2))
    stream.batch(table([]), milliseconds(20))
    assert sorted((m["a"]["id"], m["b"]["id"]) for m in stream.found["matches"]) == [(1, 3), (2, 3)]


@pytest.mark.parametrize("limit", ["SHORT_JOURNAL", "LONG_JOURNAL"])
def test_a_journal_of_many_small_steps_gives_way_to_a_base(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(streaming_store, limit, 4)
    stream = stream_of(A_B.tree, buckets=1, workers=0)
    lengths = []
    for second in range(1, 13):
        stream.batch(table([event(second, second, "a")]), 0)
        lengths.append(sum(step > 0 for step, _ in saved(stream)))
    assert lengths == [1, 2, 3, 4, 1, 2, 3, 4, 5, 1, 2, 3]  # the entry of the step that wrote the base is one of them
    stream.batch(table([event(13, 13, "b")]), milliseconds(12))
    stream.batch(table([]), milliseconds(14))
    assert ids(stream.found["matches"]) == [(second, 13) for second in range(4, 13)]


@pytest.mark.parametrize("worth", [(1 << 20, 16), (0, 0)], ids=["whole buckets", "entries"])
def test_a_neighbours_steps_are_there_though_a_base_has_replaced_them(
    monkeypatch: pytest.MonkeyPatch, worth: tuple[int, int]
) -> None:
    stream = stream_of(A_B.tree, buckets=1, workers=2)
    monkeypatch.setattr(stream.workers.worth, "choice", lambda _: worth)
    done: list[int] = []
    monkeypatch.setattr(stream.workers.chance, "choice", lambda memories: memories[done[-1]])
    monkeypatch.setattr(streaming_store, "SMALL_JOURNAL", 0)  # every step writes a base
    for worker, events in ((0, [event(1, 1, "a")]), (1, [event(2, 2, "a")]), (1, [event(3, 3, "a")])):
        done.append(worker)
        stream.batch(table(events), 0)
    done.append(0)
    with monkeypatch.context() as patched:
        patched.setattr(BucketStore, "restored", lambda *_: pytest.fail("the base was read"))
        stream.batch(table([event(5, 4, "b")]), milliseconds(3))
    done.append(1)
    stream.batch(table([]), milliseconds(20))
    assert ids(stream.found["matches"]) == [(1, 4), (2, 4), (3, 4)]


def test_runs_of_a_large_state_are_counted_every_so_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming_store, "COUNTED", 0)
    monkeypatch.setattr(streaming_store, "SELDOM", 4)
    stream = stream_of(A_B.tree, buckets=1, workers=0)
    for second in range(1, 7):
        stream.batch(table([event(second, second, "a")]), milliseconds(second - 1) if second > 1 else 0)
    changes = [row["runs_change"] for row in stream.counts]
    assert len(changes) > 8
    assert all((change > 0) == (step % 4 == 0) for step, change in enumerate(changes, 1))
    stream.end()
    assert stream.counts[-1]["runs"] == 0 == sum(row["runs_change"] for row in stream.counts)


def test_a_step_that_was_not_committed_is_forgotten() -> None:
    stream = stream_of(A_B.tree, buckets=1)
    stream.batch(table([event(1, 1, "a")]), 0)
    committed = {bucket: dict(values) for bucket, values in kept_in(stream.tester).items()}
    stream.batch(table([event(2, 2, "a")]), 0)  # the task fails after this; Spark goes back to what was committed
    kept_in(stream.tester).update(committed)
    stream.batch(table([event(5, 3, "b")]), 0)
    stream.batch(table([]), milliseconds(20))
    assert [(m["a"]["id"], m["b"]["id"]) for m in stream.found["matches"]] == [(1, 3)]


def named(fingerprint: str = "f1", text: str = "a ~> b", buckets: tuple[int, ...] = (0,)) -> str:
    columns = {"ts": "timestamp"}
    return Identity(fingerprint, text, True, buckets, ("key",), ("ts",), columns, {}, (), "event").to_json()


def test_state_of_something_else_is_refused_with_the_difference() -> None:
    stream = stream_of(A_B.tree, buckets=1, identity=named())
    stream.batch(table([event(1, 1, "a")]), 0)
    for other, shown in (
        (named("f2", "a ~> c"), "was a ~> b\n.*is a ~> c"),
        (named(buckets=(0, 1)), "2 buckets"),
    ):
        with pytest.raises(StateError, match=shown):
            stream_of(A_B.tree, buckets=1, identity=other).go_on_from(stream).batch(table([event(2, 2, "a")]), 0)
    stream_of(A_B.tree, buckets=1, identity=named(text="x ~> y")).go_on_from(stream).batch(table([event(2, 2, "b")]), 0)


@pytest.mark.parametrize("journal", [0, 1 << 20], ids=["with a base", "with a journal"])
def test_names_limits_and_the_form_of_rows_may_change(monkeypatch: pytest.MonkeyPatch, journal: int) -> None:
    """All in one process, as in one Spark session: what the earlier start left in memory is not used."""
    monkeypatch.setattr(streaming_store, "SMALL_JOURNAL", journal)

    def of(a: str, b: str) -> PatternTree:
        rising = f"name = 'b' AND price > LAST({a}.price)"
        return Pattern.begin(a).where("name = 'a'").followed_by(b).where(rising).within("10 seconds").tree

    def started(tree: PatternTree, **more: Any) -> OperatorStream:
        stream = stream_of(of("a", "b"), buckets=1)
        stream.batch(table([event(1, 1, "a", price=1), event(2, 2, "a", price=5)]), 0)
        stream.batch(table([]), milliseconds(3))
        again = stream_of(tree, buckets=1, **more).go_on_from(stream)
        again.batch(table([event(4, 3, "b", price=3)]), milliseconds(3))
        again.batch(table([]), milliseconds(5))
        return again

    for a, b in (("a", "b"), ("b", "a"), ("low", "high")):
        [match] = started(of(a, b)).found["matches"]
        assert (match[a]["id"], match[b]["id"]) == (1, 3)
    rows = started(of("b", "a"), every_row=True).found["matches"]
    assert [(row["variable"], row["sequence"], row["id"]) for row in rows] == [("b", 1, 1), ("a", 2, 3)]
    with pytest.raises(LimitError, match="max_runs is 1"):
        started(of("a", "b"), max_runs=1)
    assert len(started(of("a", "b"), max_runs=2).found["matches"]) == 1


def test_columns_may_change_their_order() -> None:
    stream = stream_of(A_B.tree, buckets=1)
    stream.batch(table([event(1, 1, "a"), event(9, 2, "a")]), 0)
    stream.batch(table([]), milliseconds(2))
    reordered = pa.schema([SCHEMA.field(name) for name in ("price", "name", "id", "ts", "key")])
    again = OperatorStream(A_B.tree, reordered, ["key"], ["ts", "id"], True, buckets=1).go_on_from(stream)
    again.batch(table([event(10, 3, "b")]).select(reordered.names), milliseconds(2))
    again.batch(table([]), milliseconds(10))
    assert ids(again.found["matches"]) == [(1, 3), (2, 3)]


def test_by_arrival_events_are_handled_as_they_come() -> None:
    stream = stream_of(A_B.tree, is_arrival=True)
    stream.batch(table([event(1, 2, "b"), event(1, 1, "a")]), 0)  # one micro-batch, one time: order is the place in it
    assert [(m["a"]["id"], m["b"]["id"]) for m in stream.found["matches"]] == [(1, 2)]
    stream.batch(table([event(2, 3, "a")]), milliseconds(1))
    assert stream.counts[-1]["pending"] == 0
    stream.batch(table([event(3, 4, "b"), event(3, 5, "a", key="idle")]), milliseconds(2))
    assert [(m["a"]["id"], m["b"]["id"]) for m in stream.found["matches"]] == [(1, 2), (3, 4)]
    stream.batch(table([]), milliseconds(13))
    assert [(t["key"], t["at"]) for t in stream.found["timeouts"]] == [("idle", BEGIN + timedelta(seconds=13))]
    stream.batch(table([event(2, 6, "a", key="idle")]), milliseconds(13))  # the clock was set back
    assert [row["id"] for row in stream.found["late"]] == [6]


TWO = Pattern.begin("a").where("name = 'a'").followed_by_any("b").where("name = 'b'").within("10 seconds")
"""Without a skip strategy: each b goes with each a before it."""


def poisoned(on_error: str, **limits: int) -> OperatorStream:
    """Key p has three matches at second 4; key k is as it should be."""
    stream = stream_of(TWO.tree, buckets=1, on_error=on_error, **{"max_matches_per_event": 2, **limits})
    stream.batch(table([event(second, second, "a", key="p") for second in (1, 2, 3)] + [event(1, 9, "a")]), 0)
    stream.batch(table([]), milliseconds(3))
    stream.batch(table([event(4, 4, "b", key="p"), event(5, 5, "b"), event(5, 6, "a", key="p")]), milliseconds(3))
    stream.batch(table([]), milliseconds(6))
    return stream


def test_an_event_over_a_limit_stops_the_query_and_a_larger_limit_goes_on() -> None:
    with pytest.raises(LimitError, match=r"key = 'p'(?s:.*)larger limit(?s:.*)on_error=\"skip_key\""):
        poisoned("stop")
    stream = stream_of(TWO.tree, buckets=1, max_matches_per_event=2)
    stream.batch(table([event(second, second, "a") for second in (1, 2, 3)] + [event(4, 4, "b")]), 0)
    with pytest.raises(LimitError):
        stream.batch(table([event(9, 9, "c")]), milliseconds(5))
    with pytest.raises(LimitError):  # as often as it is tried
        stream_of(TWO.tree, buckets=1, max_matches_per_event=2).go_on_from(stream).batch(
            table([event(9, 9, "c")]), milliseconds(5)
        )
    again = stream_of(TWO.tree, buckets=1, max_matches_per_event=3).go_on_from(stream)
    again.batch(table([event(9, 9, "c")]), milliseconds(5))
    assert ids(again.found["matches"]) == [(1, 4), (2, 4), (3, 4)]


@pytest.mark.parametrize("forgets", [False, True])
@pytest.mark.parametrize("on_error", ["skip_moment", "skip_key"])
def test_a_poisonous_event_is_rejected_and_everything_else_goes_on(on_error: str, forgets: bool) -> None:
    stream = poisoned(on_error)
    assert ids(stream.found["matches"]) == [(9, 5)]
    is_key = on_error == "skip_key"
    rejected = {row["id"]: row["reason"] for row in stream.found["rejected"]}
    assert sorted(rejected) == ([4, 6] if is_key else [4])
    assert rejected[4].startswith("the event at key = 'p', ts = ") and "max_matches_per_event is 2" in rejected[4]
    assert ("partial matches of its key were dropped" in rejected[4]) == is_key
    if forgets:  # another worker reads it from the store, where it must not come again
        streaming_store._MEMORY.clear()
    stream.batch(table([event(7, 7, "a", key="p"), event(8, 8, "b", key="p")]), milliseconds(6))
    stream.batch(table([]), milliseconds(8))
    if is_key:
        assert ids(stream.found["matches"]) == [(7, 8), (9, 5)]
    else:  # its partial matches are still there, and the next b is poisonous as well
        assert [row["id"] for row in stream.found["rejected"]] == [4, 8]
    assert_all_accounted(stream, 9)


def test_matches_over_the_limit_when_time_moves_on_are_rejected_with_their_key() -> None:
    quiet = Pattern.begin("a").where("name = 'a'").not_followed_by("b").where("name = 'b'").within("10 seconds")
    rows = [event(1, number, "a", key="p") for number in range(3)] + [event(1, 9, "a")]
    for on_error in ("skip_key", "skip_moment"):
        stream = stream_of(quiet.tree, False, buckets=1, on_error=on_error, max_matches_per_event=2)
        stream.batch(table(rows), 0)
        stream.batch(table([]), milliseconds(2))
        stream.batch(table([]), milliseconds(12))
        assert [match["a"]["id"] for match in stream.found["matches"]] == [9]
        assert sorted(row["id"] for row in stream.found["rejected"]) == [0, 1, 2]
        assert "key = 'p', as time moves on: 3 matches end here" in stream.found["rejected"][0]["reason"]
        assert_all_accounted(stream, 4)


def assert_all_accounted(stream: OperatorStream, events: int) -> None:
    """Every event is in one class, for each call and for all of them; and the changes add up to what is there."""
    for row in stream.counts:
        classes = ("late", "rejected", "handled", "pending_change")
        assert row["events"] == sum(row[name] for name in classes)
    total = {name: sum(row[name] for row in stream.counts) for name in COUNTED}
    assert total["events"] == events
    assert total["rejected"] == len(stream.found["rejected"]) and total["late"] == len(stream.found["late"])
    held = saved_buckets(stream)
    assert total["pending_change"] == sum(bucket.pending_events for bucket in held)
    assert total["runs_change"] == sum(count_live(bucket.matcher, bucket.watermark) for bucket in held)


def saved_buckets(stream: OperatorStream) -> list[BucketRuns]:
    """The state as a checkpoint has it; what is in memory is not used, and stays."""
    in_memory = dict(streaming_store._MEMORY)
    streaming_store._MEMORY.clear()
    saved = {number: SavedValues() for number in range(stream.buckets)} | checkpointed(rows_kept(stream.tester))
    found = [BucketStore(values, stream.work).load(number)[1] for number, values in saved.items()]
    streaming_store._MEMORY.update(in_memory)
    return found


@given(st.lists(st.integers(0, 6)), st.lists(st.integers(0, 9)))
def test_slots_of_keys(known: list[int], came: list[int]) -> None:
    """Each key has one slot, known keys keep theirs, and new ones follow in the order in which they came."""

    def hashes(numbers: list[int]) -> pa.Array:
        return pa.array([number.to_bytes(16, "big") for number in numbers], pa.binary(16))

    expected = list(dict.fromkeys([*dict.fromkeys(known), *came]))
    slots, keys = slots_of(hashes(list(dict.fromkeys(known))), hashes(came))
    assert keys.equals(hashes(expected))
    assert slots.tolist() == [expected.index(number) for number in came]
