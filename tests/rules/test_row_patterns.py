"""Row patterns among the rules of a set, in memory: what each finds is what it finds by itself."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from cepheid import PatternSet, RowPattern
from cepheid.errors import CepheidError, InputError
from cepheid.rules.directory import Directory

FALL = """
    PARTITION BY stock
    MEASURES FIRST(price) AS high, LAST(DOWN.price) AS low, COUNT(*) AS days, MATCH_NUMBER() AS number
    PATTERN (STRT DOWN+) DEFINE DOWN AS price < PREV(price)
"""
TWICE = "PARTITION BY stock ORDER BY t MEASURES B.t AS again PATTERN (A B) DEFINE A AS price > 5, B AS price > A.price"
RISE = "low[price < 3] ~> high[price > 6]"


def prices(seed: int, count: int = 60) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [{"stock": chance.choice("xyz"), "t": t, "price": chance.randrange(10)} for t in range(count)]


def a_set() -> PatternSet:
    rules = PatternSet({"rise": RISE, "fall": RowPattern.parse(FALL), "twice": TWICE}, partition_by="stock")
    return rules.add("everywhere", "MEASURES LAST(t) AS t PATTERN (A A) DEFINE A AS price = 4", severity="low")


@pytest.mark.parametrize("seed", range(3))
def test_a_row_pattern_in_a_set_finds_what_it_finds_alone(seed: int) -> None:
    rows = prices(seed)
    found = a_set().match_events(rows, order_by="t")
    by_rule: dict[str, list[dict[str, Any]]] = {name: [] for name in found.counts}
    for match in found.matches:
        by_rule[match["rule"]].append(match)
    ordered = RowPattern.parse(FALL.replace("MEASURES", "ORDER BY t MEASURES", 1))
    alone = ordered.match_events(rows).matches
    assert alone and found.counts["rise"]
    assert [{"stock": match["stock"], **match["measures"]} for match in by_rule["fall"]] == [
        {name: value if name == "stock" else str(value) for name, value in match.items()} for match in alone
    ]
    assert found["fall"].matches == alone
    for match in by_rule["fall"]:
        labels = [one["variable"] for one in match["events"]]
        assert labels == ["STRT", *["DOWN"] * (len(labels) - 1)]
        assert str(len(labels)) == match["measures"]["days"]
        events = [one["event"] for one in match["events"]]
        assert (match["start_time"], match["end_time"]) == (events[0]["t"], events[-1]["t"])
        assert str(events[-1]["price"]) == match["measures"]["low"]
    again = RowPattern.parse(TWICE).match_events(rows).matches
    assert [int(match["measures"]["again"]) for match in by_rule["twice"]] == [row["again"] for row in again]
    assert all(match["stock"] is None and match["severity"] == "low" for match in by_rule["everywhere"])
    assert len({match["match_id"] for match in found.matches if match["rule"] == "fall"}) == len(alone)


def test_matches_without_rows_are_left_out() -> None:
    rules = PatternSet({"maybe": "MEASURES COUNT(A.t) AS n PATTERN (A*) DEFINE A AS price > 5"})
    rows = [{"t": t, "price": price} for t, price in enumerate([9, 1, 8, 7, 2])]
    found = rules.match_events(rows, order_by="t")
    assert [(match["measures"]["n"], match["start_time"]) for match in found.matches] == [("1", 0), ("2", 2)]


def test_what_does_not_fit_is_refused() -> None:
    other = PatternSet({"other": TWICE.replace("ORDER BY t", "ORDER BY t DESC")})
    with pytest.raises(InputError, match="rule 'other': its clause says ORDER BY t DESC, but the set is ordered by t"):
        other.match_events(prices(1), order_by="t")
    with pytest.raises(InputError, match="Write them as MEASURES"):
        PatternSet().add("fall", FALL, measures={"n": "COUNT(A.t)"})
    unknown = PatternSet({"unknown": TWICE.replace("price > 5", "prize > 5")})
    with pytest.raises(CepheidError, match=r"(?s)rule 'unknown'.*prize"):
        unknown.match_events(prices(1), order_by="t")


def test_a_set_explains_its_row_patterns() -> None:
    text = str(a_set().explain())
    assert "PATTERN (STRT DOWN+)" in text and "a row pattern is a sequence of adjacent rows" in text


def test_a_rule_file_may_hold_a_clause(tmp_path: Path) -> None:
    (tmp_path / "fall.toml").write_text(
        'pattern = """PARTITION BY stock PATTERN (STRT DOWN{2,}) DEFINE DOWN AS price < PREV(price)"""\n'
        'order_by = "t"\n'
        "[[examples]]\n"
        'events = [{ t = 1, stock = "x", price = 5 }, { t = 2, stock = "y", price = 1 },'
        ' { t = 3, stock = "x", price = 4 }, { t = 4, stock = "x", price = 2 }]\n'
        "matches = [{ STRT = 1, DOWN = [3, 4] }]\n"
    )
    [file] = Directory(tmp_path).read().files
    [example] = file.examples
    assert example.difference(file.rule) is None
    table = PatternSet.from_table([{"name": "fall", "text": FALL}])
    assert RowPattern.from_json(RowPattern.parse(FALL).to_json()) == RowPattern(table["fall"].clause)  # type: ignore[union-attr]
