"""Sets of patterns in memory: what they find is what each pattern finds by itself."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syntax.strategies import patterns

from cepheid import Pattern, PatternSet
from cepheid.errors import CepheidError, InputError, MalformedPatternError
from cepheid.rules import Rule

RISE = Pattern.parse("low[price < 5] ~> high[price > 6]")
ROWS = [
    {"stock": "x", "shop": "p", "t": 1, "price": 3},
    {"stock": "x", "shop": "q", "t": 2, "price": 12},
    {"stock": "y", "shop": "p", "t": 3, "price": 8},
    {"stock": "y", "shop": "q", "t": 4, "price": None},
]


def test_each_rule_has_its_own_key_measures_and_labels() -> None:
    rules = (
        PatternSet({"by stock": RISE}, partition_by="stock")
        .add("by shop", RISE, partition_by="shop", severity="high", tags=["a", "b"])
        .add("all", RISE, measures={"twice": "2 * SUM(high.price)"})
    )
    found = rules.match_events(ROWS, order_by="t", columns=["price"])
    assert found.counts == {"by stock": 1, "by shop": 1, "all": 1}
    by_shop = found.matches[1]
    assert (by_shop["rule"], by_shop["stock"], by_shop["shop"]) == ("by shop", None, "p")
    assert (by_shop["start_time"], by_shop["end_time"], by_shop["severity"]) == (1, 3, "high")
    assert by_shop["tags"] == ["a", "b"]
    assert by_shop["events"] == [
        {"variable": "low", "sequence": 1, "event": {"price": 3}},
        {"variable": "high", "sequence": 2, "event": {"price": 8}},
    ]
    assert found.matches[2]["measures"] == {"twice": "24"}
    assert found["by shop"].matches[0]["high"] == {"price": 8}
    assert found["all"].matches[0]["twice"] == 24


def test_a_set_is_made_from_a_table_of_texts() -> None:
    rules = PatternSet.from_table(
        [
            {"name": "rise", "text": "low[price < 5] ~> high[price > 6]", "partition_by": "stock, shop", "tags": "x"},
            {"name": "sase", "text": "EVENT SEQ(A a, B b)", "partition_by": None, "tags": None},
            {"name": "json", "text": RISE.to_json(), "partition_by": None, "tags": None},
        ]
    )
    assert rules.names == ("rise", "sase", "json")
    assert rules["rise"].partition_by == ("stock", "shop")
    assert rules["rise"].tags == ("x",)
    assert rules["json"].tree == RISE.tree
    with pytest.raises(MalformedPatternError, match="rule 'bad', pattern text"):
        PatternSet.from_table([{"name": "bad", "text": "a ~> ["}])
    with pytest.raises(InputError, match="no column 'text'"):
        PatternSet.from_table([{"name": "bad"}])


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (lambda: PatternSet({"a": RISE, "A": RISE}), "two rules named 'A'"),
        (
            lambda: PatternSet({"a": RISE}, partition_by={"k": {"low": "x", "high": "y"}}),
            r"rule 'a': its partition_by is given by step, which a set .* not do.\s+Run the pattern by itself",
        ),
        (lambda: PatternSet({"a": 3}), "rule 'a': its pattern is of type int"),  # type: ignore[dict-item]
        (lambda: PatternSet({" ": RISE}), "the name of a rule is ' '"),
        (lambda: PatternSet({"a": "low[price <"}), "rule 'a'"),
        (lambda: PatternSet().add("a", RISE, severity=3), "rule 'a': severity is 3"),  # type: ignore[arg-type]
        (lambda: PatternSet().add("a", RISE, measures={"m": "SUM("}), "measure 'm'"),
        (lambda: PatternSet({"a": RISE})["b"], "no rule 'b'"),
        (lambda: PatternSet().match_events(ROWS), "the set has no rules"),
        (
            lambda: PatternSet({"a": RISE}, partition_by="nothing").match_events(ROWS),
            "rule 'a': partition_by='nothing'",
        ),
        (lambda: PatternSet({"a": "x[prize > 3]"}).match_events(ROWS), "rule 'a'"),
        (lambda: PatternSet({"a": RISE}, partition_by="rule").match_events([{"rule": 1, "price": 2}]), "of their own"),
    ],
)
def test_errors_name_the_rule(rules: Any, message: str) -> None:
    with pytest.raises(CepheidError, match=message):
        rules()


def test_what_rules_share_is_explained() -> None:
    rules = PatternSet({"one": RISE, "two": "low[price < 5] -> any"}, partition_by="stock")
    explained = str(rules.explain())
    assert "4 conditions" not in explained
    assert "3 conditions, 2 of them distinct" in explained
    assert "price < 5: one, two" in explained
    assert "two: 'any' has no condition" in explained or "two:" in explained.split("all rows")[1]


def made_up_rows(seed: int) -> pa.Table:
    chance = random.Random(seed)
    rows, time = [], 0
    for number in range(40):
        time += chance.choice([0, 1, 1, 2])
        price = chance.choice([None, *range(10)])
        rows.append(
            {"key": chance.choice("pqr"), "t": time, "id": number, "name": chance.choice("abcd"), "price": price}
        )
    return pa.Table.from_pylist(rows)


@settings(max_examples=max(10, settings().max_examples // 10))
@given(st.lists(patterns(), min_size=1, max_size=8), st.integers(0, 10**6))
def test_a_set_finds_what_its_patterns_find(trees: list[Any], seed: int) -> None:
    rows = made_up_rows(seed)
    rules, expected = [], {}
    for number, tree in enumerate(trees):
        key = ("key",) if number % 2 else ()
        try:
            found = Pattern(tree).match_events(rows, partition_by=key or None, order_by=["t", "id"], rows="all")
        except CepheidError:
            continue
        rules.append(Rule(str(number), tree, key))
        expected[str(number)] = [(one["match_id"], one["variable"], one["id"]) for one in found.matches]
    if not rules:
        return
    by_rule: dict[str, list[tuple[str, str, int]]] = {rule.name: [] for rule in rules}
    for match in PatternSet(rules).match_events(rows, order_by=["t", "id"]).matches:
        taken = [(match["match_id"], one["variable"], one["event"]["id"]) for one in match["events"]]
        by_rule[match["rule"]] += taken
    assert by_rule == expected


RULE = """\
pattern = "low[price < :least] ~> high[price > 6] within 5"
partition_by = "stock"
severity = "high"
tags = ["prices"]
order_by = "t"
[parameters]
least = 5
[[examples]]
events = [{ t = 1, stock = "x", price = 3 }, { t = 2, stock = "x", price = 9 }, { t = 3, stock = "y", price = 9 }]
matches = [{ low = 1, high = 2 }]
"""


def test_rules_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "rise.toml").write_text(RULE)
    (tmp_path / "notes.txt").write_text("no rule")
    rules = PatternSet.from_directory(tmp_path)
    assert rules.names == ("rise",)
    rule = rules["rise"]
    assert (rule.partition_by, rule.severity, rule.tags) == (("stock",), "high", ("prices",))
    assert rule.tree.parameters == (("least", 5),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("pattern = ", "patern = "), r"bad.toml, line 1: 'patern' is not a key of a rule.\s+Did you mean 'pattern'\?"),
        (("low[price", "low[[price"), r"bad.toml, line 1, pattern text"),
        (("= 5\n", "= \n"), "bad.toml, line 7, column 9: this is not TOML"),
        (("least = 5", "most = 5"), "bad.toml, line 6: 'most' has a value, but no condition has :most"),
        (("least = 5", ""), "bad.toml, line 6: :least has no value"),
        (('"stock"\nsev', '{ k = "x" }\nsev'), "bad.toml, line 2: its partition_by is given by step"),
        (('"high"', "7"), "bad.toml, line 3: severity = 7 is not a string"),
        (("high = 2", "high = 8"), r"bad.toml, \[\[examples\]\] 1: the match .* 8 is not one of the 3 events"),
        (("high = 2", "hihg = 2"), r"bad.toml, \[\[examples\]\] 1: .*'hihg', which is not a variable"),
        (("events =", "rows ="), r"bad.toml, \[\[examples\]\] 1: rows"),
    ],
)
def test_errors_name_the_file_and_the_place(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    (tmp_path / "bad.toml").write_text(RULE.replace(*change))
    (tmp_path / "good.toml").write_text(RULE)
    with pytest.raises(InputError, match=message):
        PatternSet.from_directory(tmp_path)


def test_two_files_with_one_name(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('name = "x"\n' + RULE)
    (tmp_path / "b.toml").write_text('name = "X"\n' + RULE)
    with pytest.raises(InputError, match=r"b.toml: .*a.toml has a rule named 'X' already"):
        PatternSet.from_directory(tmp_path)
