"""What workers of one machine leave for each other is used only if it is what Spark has committed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cepheid.errors import StateError
from cepheid.spark.stream.state import neighbours
from cepheid.spark.stream.state.format import written
from cepheid.spark.stream.state.neighbours import Step, is_worth_leaving
from cepheid.spark.stream.state.whole import Whole, WholeFile

START = "this start"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(neighbours, "PLACE", tmp_path / "steps")
    return tmp_path / "steps"


def leave(number: int, name: str, previous: str, *parts: bytes, birth: str = "b") -> None:
    neighbours.leave_entry(Step(birth, number, name), written({"name": name, "previous": previous}, parts))


def leave_whole(number: int, name: str, previous: str, bucket: Any, start: str = START) -> None:
    neighbours.leave_whole(Step("b", number, name), previous, start, Whole(bucket, ()))


def since(known: tuple[int, str] | None, last: tuple[int, str], birth: str = "b") -> Any:
    """What the steps brought; with a whole bucket, that first."""
    left = neighbours.since(None if known is None else Step(birth, *known), Step(birth, *last), START)
    return left and (left.brought if left.whole is None else [left.whole.bucket(()), *left.brought])


def test_the_steps_since_the_known_one_come_in_their_order() -> None:
    for step, (previous, name) in enumerate(zip("_xyz", "xyzw", strict=True), 1):
        leave(step, name, previous, name.encode(), b"more") if name != "z" else leave(step, name, previous)
    assert since((1, "x"), (4, "w")) == [[b"y", b"more"], [], [b"w", b"more"]]
    assert since((3, "z"), (4, "w")) == [[b"w", b"more"]]


@pytest.mark.parametrize(
    ("known", "last", "why"),
    [
        ((1, "x"), (3, "other"), "the last step was done again, elsewhere"),
        ((1, "other"), (3, "z"), "the worker did an attempt that was not committed"),
        ((4, "w"), (3, "z"), "the worker's last step was not committed"),
        ((1, "x"), (4, "w"), "a step is not here"),
        ((0, ""), (9, "z"), "too many steps"),
        (None, (3, "z"), "the worker does not know the bucket"),
    ],
)
def test_whatever_is_not_one_chain_is_not_used(known: tuple[int, str] | None, last: tuple[int, str], why: str) -> None:
    for step, (previous, name) in enumerate(zip("_xy", "xyz", strict=True), 1):
        leave(step, name, previous, b"events")
    assert since((1, "x"), (3, "z")) is not None
    assert since(known, last) is None, why
    assert since((1, "x"), (3, "z"), birth="another") is None


def test_a_step_in_between_that_was_done_again_breaks_the_chain() -> None:
    for step, (previous, name) in enumerate(zip("_xy", "xyz", strict=True), 1):
        leave(step, name, previous)
    leave(2, "again", "x")
    assert since((1, "x"), (3, "z")) is None


def test_damage_is_not_used(place: Path) -> None:
    leave(2, "y", "x", b"events")
    file = place / "b.2"
    whole = file.read_bytes()
    for spoilt in (whole[:-1], b"", whole.replace(b"events", b"EVENTS")):
        file.write_bytes(spoilt)
        assert since((1, "x"), (2, "y")) is None
    file.write_bytes(whole)
    assert since((1, "x"), (2, "y")) == [[b"events"]]


def test_only_the_last_steps_stay_and_large_entries_are_not_left(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in range(1, 30):
        leave(step, f"n{step}", f"n{step - 1}")
    assert sorted(int(file.suffix[1:]) for file in place.iterdir()) == list(range(22, 30))
    monkeypatch.setattr(neighbours, "MOST", 100)
    leave(30, "n30", "n29", b"x" * 200)
    assert since((29, "n29"), (30, "n30")) is None


def test_a_whole_bucket_needs_no_steps_before_it() -> None:
    leave_whole(5, "x", "", "the bucket")
    leave(6, "y", "x", b"events")
    for known in (None, (3, "v"), (9, "not committed")):
        assert since(known, (5, "x")) == ["the bucket"]
        assert since(known, (6, "y")) == ["the bucket", [b"events"]]
    assert since((5, "x"), (6, "y")) == [[b"events"]]  # the worker has the bucket itself


def test_a_whole_bucket_of_another_step_or_another_start_is_not_used() -> None:
    leave_whole(5, "x", "", "the bucket", start="an earlier start")
    leave_whole(7, "z", "", "done again")
    assert since(None, (5, "x")) is None
    assert since(None, (7, "y")) is None


def test_a_whole_bucket_comes_back_as_it_was_and_can_be_changed(place: Path) -> None:
    work = object()
    arrays = [np.arange(10), np.zeros((3, 0)), np.arange(7, dtype=np.int8), np.asfortranarray(np.eye(3))]
    table = pa.table({"a": [1, None, 3], "b": ["x", "yy", ""]}).slice(1)
    bucket = {"work": work, "arrays": arrays, "table": table, "nothing": None, "again": arrays[0]}
    neighbours.leave_whole(Step("b", 1, "x"), "", START, Whole(bucket, (work, None)))
    left = neighbours.since(None, Step("b", 1, "x"), START)
    assert left is not None
    assert left.whole is not None
    other = object()
    found = left.whole.bucket((other, None))
    assert found["work"] is other
    assert found["nothing"] is None
    assert found["table"].equals(table)
    assert found["again"] is found["arrays"][0]
    for mine, given in zip(found["arrays"], arrays, strict=True):
        assert np.array_equal(mine, given)
        assert mine.dtype == given.dtype
        assert mine.flags.writeable
        assert mine.flags.aligned
        assert mine.flags.c_contiguous == given.flags.c_contiguous
    found["arrays"][0][:] = 0
    assert arrays[0].sum() == 45


def test_a_whole_bucket_that_is_cut_off_is_not_used(place: Path) -> None:
    leave_whole(2, "y", "x", {"a": np.arange(1000), "b": "text"})
    file = place / "b.2"
    complete = file.read_bytes()
    for length in (*range(0, 300, 7), len(complete) - 1):
        file.write_bytes(complete[:length])
        assert since(None, (2, "y")) is None
        with pytest.raises(StateError, match=r"b\.2 is not a whole bucket"):
            WholeFile(np.fromfile(file, np.uint8), file.name)
    file.write_bytes(complete.replace(b"text", b"TEXT"))
    assert since(None, (2, "y")) is None
    file.write_bytes(complete)
    assert since(None, (2, "y"))[0]["b"] == "text"


def test_what_another_user_has_left_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_whole(2, "y", "x", "the bucket")
    assert since(None, (2, "y")) == ["the bucket"]
    monkeypatch.setattr(neighbours, "_USER", -1)
    assert since(None, (2, "y")) is None


def test_only_two_whole_buckets_stay(place: Path) -> None:
    for step in range(1, 20):
        leave_whole(step, f"n{step}", f"n{step - 1}", step)
    assert sorted(int(file.suffix[1:]) for file in place.iterdir()) == [18, 19]


def test_the_file_of_an_earlier_step_is_written_over(place: Path) -> None:
    leave_whole(1, "n1", "", np.arange(1000))
    file = (place / "b.1").stat().st_ino
    leave_whole(2, "n2", "n1", "second")
    leave_whole(3, "n3", "n2", "shorter")
    assert (place / "b.3").stat().st_ino == file
    assert since(None, (1, "n1")) is None
    assert since(None, (2, "n2")) == ["second"]
    assert since(None, (3, "n3")) == ["shorter"]


@pytest.mark.parametrize("later", [6, 7], ids=["another one", "this one"])
def test_a_file_that_is_written_over_while_it_is_read_is_not_used(later: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that nobody waits for any more may still read while its bucket goes on."""
    leave_whole(5, "x", "", "the bucket")
    fromfile = np.fromfile

    def slow(*given: Any) -> Any:
        memory = fromfile(*given)
        leave_whole(later, "later", "", "another bucket")
        return memory

    monkeypatch.setattr(np, "fromfile", slow)
    assert since(None, (5, "x")) == (None if later == 7 else ["the bucket"])


def test_a_large_bucket_is_worth_leaving_only_after_a_large_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "SMALL", 1 << 20)  # other tests' workers change both
    monkeypatch.setattr(neighbours, "WORTH", 16)
    assert is_worth_leaving(10_000_000, 1_400_000)
    assert is_worth_leaving(500_000, 100)
    assert not is_worth_leaving(100_000_000, 1_400_000)


def test_files_of_queries_that_have_ended_go(place: Path) -> None:
    leave(5, "x", "", birth="ended")
    leave(7, "y", "x", birth="runs")
    os.utime(place / "ended.5", (0, 0))
    leave(1, "z", "", birth="new")
    assert sorted(file.name for file in place.iterdir()) == ["new.1", "runs.7"]


def test_a_disk_that_takes_nothing_does_no_harm(place: Path) -> None:
    place.write_text("a file where the directory should be")
    leave(1, "x", "")
    leave_whole(1, "x", "", "the bucket")
    assert since((0, ""), (1, "x")) is None


def test_the_place_is_that_of_the_shuffles_files(tmp_path: Path) -> None:
    assert neighbours.place_of(None) is neighbours.place_of("") is None
    assert neighbours.place_of(f"{tmp_path},/elsewhere") == tmp_path / "cepheid-steps"
