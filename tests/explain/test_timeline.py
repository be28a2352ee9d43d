"""Timelines show every match with its events, its nots and its window, from rows of every form."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cepheid import InputError, Pattern
from cepheid.explain import timeline
from cepheid.explain.timeline.axis import duration, ticks
from cepheid.explain.timeline.panels import MOST_EVENTS, Guarded
from cepheid.explain.timeline.panels import panels as panels_of
from cepheid.explain.timeline.plain_rows import as_number, from_number, plain_rows
from cepheid.explain.timeline.timelines import Reading, _nots

TEN = datetime(2025, 3, 1, 10)
ROWS = [
    {"tag": "shirt", "ts": TEN, "reader": "SHELF"},
    {"tag": "shirt", "ts": TEN + timedelta(minutes=20), "reader": "COUNTER"},
    {"tag": "shirt", "ts": TEN + timedelta(minutes=22), "reader": "EXIT"},
    {"tag": "watch", "ts": TEN + timedelta(minutes=5), "reader": "SHELF"},
    {"tag": "watch", "ts": TEN + timedelta(minutes=40), "reader": "EXIT"},
]
SHOPLIFTING = (
    Pattern.begin("shelf")
    .where("reader = 'SHELF'")
    .not_followed_by("counter")
    .where("reader = 'COUNTER'")
    .followed_by("exit")
    .where("reader = 'EXIT'")
    .within("1 hour")
)


class Page(HTMLParser):
    """Checks that tags are balanced and gathers titles, classes and texts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tips: list[str] = []
        self.classes: list[str] = []
        self.addresses: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br"):
            self.open.append(tag)
        for name, value in attrs:
            self.classes += (value or "").split() if name == "class" else []
            self.addresses += [value or ""] if name in ("href", "src", "xlink:href") else []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["title"]:
            self.tips.append(data)
        elif self.open[-1:] != ["style"]:
            self.text += data + "\n"


def found(rows: Any = ROWS, pattern: Pattern = SHOPLIFTING):  # type: ignore[no-untyped-def]
    return pattern.match_events(rows, partition_by="tag", order_by="ts")


def test_the_page_shows_the_match_and_the_not_that_prevented_one(tmp_path: Path) -> None:
    drawn = found().timeline()
    assert drawn.partitions == 2
    page = Page(drawn.html)
    assert "tag = watch" in page.text and "tag = shirt" in page.text
    assert "no match" in page.text  # the shirt was paid for
    assert page.classes.count("cross") == 1
    assert any(tip.startswith("would violate not counter") for tip in page.tips)
    assert any(tip.startswith("exit\n2025-03-01 10:40:00") for tip in page.tips)
    assert "no counter" in page.text
    assert "35 min" in page.text
    assert drawn.save(tmp_path / "new" / "page.html").read_text(encoding="utf-8") == drawn.html


def test_the_page_needs_no_network() -> None:
    html = found().timeline().html
    assert Page(html).addresses == []
    assert not re.search(r"url\(|@import|<script|<link", html)
    assert set(re.findall(r"https?://[^\"' ]+", html)) <= {"http://www.w3.org/2000/svg"}


def test_rows_of_every_form_give_the_same_picture() -> None:
    result = found()
    expected = result.timeline().html
    table, events = result.matches_table, pa.Table.from_pylist(ROWS)
    for matches, searched in (
        (result.matches, ROWS),
        (table, events),
        (table.to_pandas(), events.to_pandas()),
        (table.to_pandas(), ROWS),
    ):
        drawn = timeline(matches, events=searched, pattern=SHOPLIFTING)
        assert drawn.html == expected
    assert timeline(table, events=ROWS, pattern=SHOPLIFTING.tree, partition_by="tag", order_by=["ts"]).html == expected


def test_matches_alone_can_be_drawn() -> None:
    page = Page(timeline(found().matches).html)
    assert "tag = watch" in page.text
    assert {"shelf", "exit"} <= set(page.text.split())


def test_matches_that_keep_no_events_show_their_length() -> None:
    matches = [{"tag": "watch", "match_id": "1", "start_time": TEN, "end_time": TEN + timedelta(hours=2), "total": 5}]
    assert "2 h" in Page(timeline(matches).html).text
    with pytest.raises(InputError, match="order_by"):
        timeline(matches, events=ROWS)


def test_loops_plain_numbers_and_no_key() -> None:
    rows = [{"t": t, "k": k} for t, k in ((1, "a"), (3, "b"), (4, "b"), (9, "c"))]
    pattern = Pattern.begin("a").where("k = 'a'").followed_by("b").where("k = 'b'").one_or_more().greedy()
    pattern = pattern.followed_by("c").where("k = 'c'").within(20)
    page = Page(pattern.match_events(rows, order_by="t").timeline().html)
    assert "all events" in page.text
    assert page.classes.count("mark") == 4
    assert any(tip.startswith("b\n4\n") for tip in page.tips)


def tracks(pattern: Pattern, rows: list[dict[str, Any]]) -> list[tuple[Guarded, ...]]:
    matches = pattern.match_events(rows, order_by="t").matches
    names = tuple(pattern.automaton().variables)
    reading = Reading((), names, ("t",), pattern.tree, _nots(pattern.tree, rows)[1])
    return [track.guarded for panel in panels_of(matches, rows, reading, 5) for track in panel.tracks]


def test_a_not_at_the_end_guards_until_the_window_ends() -> None:
    pattern = Pattern.begin("order").where("k = 'o'").not_followed_by("pay").where("k = 'p'").within(30)
    assert tracks(pattern, [{"t": 5, "k": "o"}, {"t": 90, "k": "x"}]) == [(Guarded(5, 35, "pay"),)]


def test_a_not_behind_a_loop_guards_between_its_events() -> None:
    pattern = Pattern.begin("a").where("k = 'a'").times(2).not_followed_by("n").where("k = 'n'")
    pattern = pattern.followed_by("b").where("k = 'b'")
    rows = [{"t": t, "k": k} for t, k in ((1, "a"), (3, "a"), (7, "b"))]
    assert tracks(pattern, rows) == [(Guarded(1, 3, "n"), Guarded(3, 7, "n"))]


def test_a_not_at_the_start_guards_what_lies_before() -> None:
    pattern = Pattern.not_before("n").where("k = 'n'").begin("a").where("k = 'a'").within(10)
    assert tracks(pattern, [{"t": 50, "k": "a"}]) == [(Guarded(40, 50, "n"),)]


def test_nothing_found() -> None:
    result = found(ROWS[:3])
    assert result.matches == []
    assert "no match" in Page(result.timeline().html).text
    assert Page(timeline([]).html).text.strip().endswith("No matches.")


def test_many_events_are_thinned_and_counted() -> None:
    rows = [{"t": t, "k": "a" if t in (700, 705) else "z"} for t in range(2 * MOST_EVENTS)]
    pattern = Pattern.begin("x").where("k = 'a'").followed_by("y").where("k = 'a'").within(50)
    page = Page(pattern.match_events(rows, order_by="t").timeline().html)
    assert page.classes.count("event") <= MOST_EVENTS
    assert re.search(r"\d+ more not shown", page.text)
    assert page.classes.count("mark") == 2


def test_values_cannot_break_the_page() -> None:
    rows = [
        {"tag": "</svg><script>", "ts": TEN, "reader": "SHELF"},
        {"tag": "</svg><script>", "ts": TEN + timedelta(minutes=1), "reader": "EXIT"},
    ]
    html = found(rows).timeline().html
    assert "<script" not in html
    Page(html)


def test_rows_that_are_none_are_refused() -> None:
    for wrong in ("rows", {"a": 1}, 5, [3]):
        with pytest.raises(InputError, match="dict"):
            plain_rows(wrong)


@given(st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2100, 1, 1)))
def test_times_come_back(moment: datetime) -> None:
    number = as_number(moment)
    assert number is not None
    assert abs(from_number(number) - moment) <= timedelta(microseconds=1)
    assert as_number(pd.Timestamp(moment)) == number
    assert as_number(np.datetime64(moment, "us")) == number
    assert as_number(moment.date()) == as_number(datetime.combine(moment.date(), datetime.min.time()))


@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.booleans())
def test_ticks_lie_on_the_axis_and_are_few(start: float, length: float, is_time: bool) -> None:
    if is_time:
        length = max(length, 10.0)
    places = ticks(start, start + length, is_time)
    assert all(start - 1e-3 <= place <= start + length + 1e-3 for place, _ in places)
    assert len(places) <= 6


def test_durations_in_words() -> None:
    assert duration(3_600_000_000 * 27, True) == "1 d 3 h"
    assert duration(1_500, True) == "1.5 ms"
    assert duration(61_000_000, True) == "1 min 1 s"
    assert duration(5, False) == "5"
    assert as_number(date(1970, 1, 2)) == 86_400_000_000
