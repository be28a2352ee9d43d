"""What workers of one machine leave for each other is used only if it is what Spark has committed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cepheid.spark.stream.state import neighbours
from cepheid.spark.stream.state.format import written


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(neighbours, "PLACE", tmp_path / "steps")
    return tmp_path / "steps"


def leave(step: int, name: str, previous: str, *parts: bytes, birth: str = "b") -> None:
    neighbours.leave(birth, step, written({"name": name, "previous": previous}, parts))


def test_the_steps_since_the_known_one_come_in_their_order() -> None:
    for step, (previous, name) in enumerate(zip("_xyz", "xyzw", strict=True), 1):
        leave(step, name, previous, name.encode(), b"more") if name != "z" else leave(step, name, previous)
    assert neighbours.since("b", (1, "x"), (4, "w")) == [[b"y", b"more"], [], [b"w", b"more"]]
    assert neighbours.since("b", (3, "z"), (4, "w")) == [[b"w", b"more"]]


@pytest.mark.parametrize(
    ("known", "last", "why"),
    [
        ((1, "x"), (3, "other"), "the last step was done again, elsewhere"),
        ((1, "other"), (3, "z"), "the worker did an attempt that was not committed"),
        ((1, "x"), (4, "w"), "a step is not here"),
        ((0, ""), (9, "z"), "too many steps"),
    ],
)
def test_whatever_is_not_one_chain_is_not_used(known: tuple[int, str], last: tuple[int, str], why: str) -> None:
    for step, (previous, name) in enumerate(zip("_xy", "xyz", strict=True), 1):
        leave(step, name, previous, b"events")
    assert neighbours.since("b", (1, "x"), (3, "z")) is not None
    assert neighbours.since("b", known, last) is None, why
    assert neighbours.since("another", (1, "x"), (3, "z")) is None


def test_a_step_in_between_that_was_done_again_breaks_the_chain() -> None:
    for step, (previous, name) in enumerate(zip("_xy", "xyz", strict=True), 1):
        leave(step, name, previous)
    leave(2, "again", "x")
    assert neighbours.since("b", (1, "x"), (3, "z")) is None


def test_damage_is_not_used(place: Path) -> None:
    leave(2, "y", "x", b"events")
    file = place / "b.2"
    whole = file.read_bytes()
    for spoilt in (whole[:-1], b"", whole.replace(b"events", b"EVENTS")):
        file.write_bytes(spoilt)
        assert neighbours.since("b", (1, "x"), (2, "y")) is None
    file.write_bytes(whole)
    assert neighbours.since("b", (1, "x"), (2, "y")) == [[b"events"]]


def test_only_the_last_steps_stay_and_large_entries_are_not_left(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in range(1, 30):
        leave(step, f"n{step}", f"n{step - 1}")
    assert sorted(int(file.suffix[1:]) for file in place.iterdir()) == list(range(22, 30))
    monkeypatch.setattr(neighbours, "MOST", 100)
    leave(30, "n30", "n29", b"x" * 200)
    assert neighbours.since("b", (29, "n29"), (30, "n30")) is None


def test_files_of_queries_that_have_ended_go(place: Path) -> None:
    leave(5, "x", "", birth="ended")
    leave(7, "y", "x", birth="runs")
    os.utime(place / "ended.5", (0, 0))
    leave(1, "z", "", birth="new")
    assert sorted(file.name for file in place.iterdir()) == ["new.1", "runs.7"]


def test_a_disk_that_takes_nothing_does_no_harm(place: Path) -> None:
    place.write_text("a file where the directory should be")
    leave(1, "x", "")
    assert neighbours.since("b", (0, ""), (1, "x")) is None


def test_the_place_is_that_of_the_shuffles_files(tmp_path: Path) -> None:
    assert neighbours.place_of(None) is neighbours.place_of("") is None
    assert neighbours.place_of(f"{tmp_path},/elsewhere") == tmp_path / "cepheid-steps"
