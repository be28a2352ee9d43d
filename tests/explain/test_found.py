"""What was found shows itself: as a table in a terminal, in a notebook, as pandas and Arrow."""

from __future__ import annotations

import pandas as pd
import pytest

from cepheid import InputError, Pattern

ROWS = [{"t": t, "n": t % 5, "k": "<x>"} for t in range(60)]
CLIMB = (
    Pattern.begin("a").where("n = 0").followed_by("b").where("n > a.n").one_or_more().followed_by("c").where("n = 4")
    .within(10).skip("past_last_event")
)  # fmt: skip
FOUND = CLIMB.match_events(ROWS, partition_by="k", order_by="t")


def test_it_is_counted_and_gone_through() -> None:
    assert len(FOUND) == FOUND.count() == len(list(FOUND)) == 12
    assert [match["start_time"] for match in FOUND][:2] == [0, 5]
    assert FOUND and not CLIMB.match_events(ROWS[:3], order_by="t")
    assert FOUND.to_arrow() is FOUND.matches_table
    frame = FOUND.to_pandas()
    assert isinstance(frame, pd.DataFrame) and list(frame["end_time"])[:2] == [4, 9]


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    FOUND.show(2)
    head, rule, first, second, count = capsys.readouterr().out.splitlines()
    assert head.split() == ["k", "match_id", "start_time", "end_time", "a", "b", "c"]
    assert set(rule) == {"─", " "}
    assert first.startswith("<x>") and "t 0, n 0, k <x>" in first and "3: t 1, n 1, k <x> | t 2, n" in first
    assert "…" in first and second.split()[2] == "5"
    assert count == "12 matches; the first 2 are shown"
    FOUND.show(1, truncate=False)
    assert "…" not in capsys.readouterr().out
    CLIMB.match_events(ROWS, order_by="t", rows="all").show()
    assert "60 events of matches" in capsys.readouterr().out
    CLIMB.match_events([], order_by="t").show()
    assert capsys.readouterr().out == "0 matches\n"
    for wrong in (0, "x", None, 1.5):
        with pytest.raises(InputError, match="n"):
            FOUND.show(wrong)  # type: ignore[arg-type]


def test_a_notebook_shows_the_first_matches() -> None:
    html = FOUND._repr_html_()
    assert html.count("<tr>") == 11 and "12 matches" in html and "the first 10" in html
    assert "&lt;x&gt;" in html and "<x>" not in html
    assert "0 matches" in CLIMB.match_events([], order_by="t")._repr_html_()


def test_a_timeline_needs_whole_events() -> None:
    measured = CLIMB.match_events(ROWS, partition_by="k", order_by="t", measures={"n": "COUNT(b.*)"})
    assert measured.timeline().html == FOUND.timeline().html
    every = CLIMB.match_events(ROWS, partition_by="k", order_by="t", rows="all")
    assert every.timeline().html == FOUND.timeline().html


def test_a_notebook_draws_a_pattern() -> None:
    drawn = CLIMB._repr_html_()
    assert drawn is not None and "<svg" in drawn
    assert "needs a window" in str(Pattern.begin("a").not_followed_by("<b>")._repr_html_())
    assert "&lt;b&gt;" in str(Pattern.begin("a").not_followed_by("<b>")._repr_html_())
    assert "(no element)" in str(Pattern()._repr_html_())
