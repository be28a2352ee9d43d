"""What single clauses become, and what is refused with which words."""

from __future__ import annotations

import pytest

from cepheid import Pattern, skip
from cepheid.errors import ConditionError, InputError, MalformedPatternError
from cepheid.syntax.tree import Skip


def test_the_readings_of_the_shop() -> None:
    text = "EVENT SEQ(SHELF x, !(COUNTER y), EXIT z) WHERE [tag] AND z.price > x.price WITHIN 12 hours"
    assert Pattern.parse(text, type_column="reader") == (
        Pattern.begin("x").where("reader = 'SHELF'", "tag IS NOT NULL")
        .not_followed_by("y").where("reader = 'COUNTER'", "tag IS NOT NULL")
        .followed_by_any("z").where("reader = 'EXIT'", "tag IS NOT NULL", "price > x.price")
        .within("12 hours").partition_by("tag")
    )  # fmt: skip


def test_the_published_form_with_a_strategy_around_the_conditions() -> None:
    published = """
        PATTERN SEQ(Stock+ a[ ], Stock b)
        WHERE skip_till_next_match(a[ ], b) {
            [symbol] ∧ a[1].volume > 1000 ∧ a[i].price > avg(a[..i-1].price) ∧ b.volume < 0.8 * a[a.LEN].volume }
        WITHIN 1 hour"""
    loop = ("type = 'Stock'", "symbol IS NOT NULL", "COUNT(a.*) <> 0 OR (volume > 1000)")
    loop += ("COUNT(a.*) < 1 OR (price > avg(a.price))",)
    assert Pattern.parse(published) == (
        Pattern.begin("a").where(*loop).one_or_more()
        .not_followed_by("a_passed_over").where(*loop)
        .followed_by("b").where("type = 'Stock'", "symbol IS NOT NULL", "volume < 0.8 * a.volume")
        .within("1 hour").partition_by("symbol")
    )  # fmt: skip


def test_negations_at_the_start_in_a_row_and_at_the_end() -> None:
    text = "EVENT SEQ(!A, !(B q), C c, !D, !E, F f, !(G g), !(H h)) WHERE q.n = f.n AND d.n = c.n AND h.n > 1 WITHIN 9"
    assert Pattern.parse(text) == (
        Pattern.not_before("a").where("type = 'A'").not_before("q").where("type = 'B'", "n = f.n")
        .begin("c").where("type = 'C'")
        .not_followed_by("d").where("type = 'D'", "n = c.n").not_followed_by("e").where("type = 'E'")
        .followed_by_any("f").where("type = 'F'")
        .not_followed_by("g").where("type = 'G'").not_followed_by("h").where("type = 'H'", "n > 1")
        .within(9)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("written", "strategy"),
    [
        ("skip-till-any-match", "skip_till_any"),
        ("SKIP_TILL_NEXT", "skip_till_next_match"),
        ("strict", "strict-contiguity"),
        ("partition_contiguity", "strict"),
    ],
)
def test_strategies_have_several_spellings(written: str, strategy: str) -> None:
    text = "EVENT SEQ(A a, B+ b, C c)"
    assert Pattern.parse(f"{text} WITHIN 5 STRATEGY {written}") == Pattern.parse(f"{text} STRATEGY {strategy} WITHIN 5")


def test_and_inside_between_and_case_belongs_to_them() -> None:
    text = "EVENT SEQ(A a, B b) WHERE b.x BETWEEN 1 AND 2 AND (a.y = 1 AND CASE WHEN a.z AND TRUE THEN b.w END)"
    assert Pattern.parse(text) == (
        Pattern.begin("a").where("type = 'A'", "y = 1")
        .followed_by_any("b").where("type = 'B'", "x BETWEEN 1 AND 2", "CASE WHEN a.z AND TRUE THEN w END")
    )  # fmt: skip


def test_columns_that_are_words_of_sql_are_quoted() -> None:
    pattern = Pattern.parse("EVENT SEQ(A order, B b) WHERE order.left = 1 AND b.`a b` = order.within AND b.select > 2")
    assert str(pattern) == (
        "order[(type = 'A') AND (`left` = 1)] ~>> b[(type = 'B') AND (`a b` = order.within) AND (`select` > 2)]"
    )
    assert Pattern.parse(pattern.to_sase()) == pattern


def test_types_are_words_texts_and_numbers() -> None:
    pattern = Pattern.parse("EVENT SEQ(ANY(A, 'it\\'s', 7) x, ANY y, 8 z) TYPED BY `the kind`")
    assert str(pattern) == "x[`the kind` IN ('A', 'it\\'s', 7)] ~>> y ~>> z[`the kind` = 8]"


def test_the_key_of_the_text_is_the_key_of_the_pattern() -> None:
    pattern = Pattern.parse("EVENT SEQ(A x, B y) WHERE [k]")
    rows = [{"t": n, "k": key, "type": kind} for n, (kind, key) in enumerate([("A", 1), ("A", None), ("B", None)])]
    rows += [{"t": 5, "k": 2, "type": "B"}, {"t": 6, "k": 1, "type": "B"}]
    for given in (None, "k", ["K"]):
        matches = pattern.match_events(rows, order_by="t", partition_by=given).matches
        assert [(match["x"]["t"], match["y"]["t"]) for match in matches] == [(0, 6)]
    for given in ("t", (), ("k", "t")):
        with pytest.raises(InputError, match="the pattern itself is partitioned by"):
            pattern.match_events(rows, order_by="t", partition_by=given)


@pytest.mark.parametrize(
    ("text", "column", "problem", "remedy"),
    [
        ("EVENT SEQ(A a, A a)", 18, "`a` is already taken", "its own name"),
        ("EVENT SEQ(!(A a))", 11, "every component is negated", "must take an event"),
        ("EVENT SEQ(A a, !(B b))", 16, "at the end needs a window", "WITHIN 12 hours"),
        ("EVENT SEQ(!(B b), A a)", 11, "at the start needs a window", "WITHIN 12 hours"),
        ("EVENT SEQ(!(B+ b), A a) WITHIN 5", 14, "does not repeat", "Leave + out"),
        ("EVENT SEQ(A a[])", 14, "component that repeats", "Write +"),
        ("EVENT SEQ('a b')", 11, "has no name", "'a b' x"),
        ("EVENT SEQ(A a, SEQ(B b))", 16, "`SEQ` is not expected", "SEQ cannot contain another SEQ"),
        ("EVENT SEQ(A a) WITHIN 5 WITHIN 6", 25, "`WITHIN` is not expected", "is given twice"),
        ("EVENT SEQ(A a) WITHIN 0", 1, "leaves no room", "greater than zero"),
        ("EVENT SEQ(A a) WITHIN 5 parsecs", 23, "unknown unit 'parsecs'", "12 hours"),
        ("EVENT SEQ(A a) WITHIN 1.5 events", 23, "not a number of events", "whole number"),
        ("EVENT SEQ(A a) STRATEGY stict", 25, "`stict` is not a strategy", "Did you mean strict?"),
        ("EVENT SEQ(A a) WHERE skip_till_any(b) { a.x = 1 }", 36, "not a component that takes events", "a."),
        ("EVENT SEQ(A a, B b) WHERE strict(b) { a.x = 1 }", 27, "does not cover `a`", "name all"),
        ("EVENT SEQ(A a) WHERE strict(a) { a.x = 1 } STRATEGY strict", 44, "given twice", "Keep"),
        ("EVENT SEQ(A a) WHERE a.x > 1 WITHN 5", 30, "`WITHN` is not expected", "Did you mean WITHIN?"),
        ("EVENT SEQ(A a) WHERE a.x >", 26, "a value is missing", "Complete"),
        ("EVENT SEQ(A a) WHERE (a.x > 1", 30, "`)` is missing", "Expected"),
        ("EVENT SEQ(A abc) WHERE abd.x > 1", 24, "no component `abd`", "Did you mean `abc`?"),
        ("EVENT SEQ(A a) WHERE a = 1", 22, "`a` is a component", "a.price"),
        ("EVENT SEQ(A a) WHERE a.x > 1 [k]", 30, "AND is missing", "Join"),
        ("EVENT SEQ(A a) WHERE [k] a.x > 1", 26, "AND is missing", "Join"),
        ("EVENT SEQ(A a) WHERE [k + 1]", 22, "not an equivalence", "[tag]"),
        ("EVENT SEQ(A a) WHERE NOT [k]", 26, "cannot be part of another condition", "AND"),
        ("EVENT SEQ(A a) WHERE a[i].x > 1", 22, "does not repeat", "a.x"),
        ("EVENT SEQ(A+ a) WHERE a[0].x > 1", 23, "counted from 1", "x[1]"),
        ("EVENT SEQ(A+ a) WHERE SUM(a.x) > 1", 27, "needs all events of `a`", "SUM(a[..i-1].x)"),
        ("EVENT SEQ(A+ a, B b) WHERE a.x > SUM(a.x)", 28, "reads one event", "a[i].x"),
        ("EVENT SEQ(A+ a, B b) WHERE b.x > a[i].x", 34, "no event of `a` is the current one", "a[a.LEN].x"),
        ("EVENT SEQ(A+ a, B b) WHERE a[i].x > a[a.LEN].x", 37, "not known when it comes", "a[i].x"),
        ("EVENT SEQ(A+ a, B b) WHERE a[..i-1].x > 3", 28, "an aggregate is missing", "AVG(a[..i-1].x)"),
        ("EVENT SEQ(A+ a, B b) WHERE SUM(a[i].x) > 3", 32, "SUM reads many events", "a[..i-1].x"),
        ("EVENT SEQ(A a, !(B b), C c) WHERE b.k = c.k", 41, "`c` comes after `b`", "Write [k]"),
        ("EVENT SEQ(A a, !B, !C, D d) WHERE b.x = c.x", 35, "two negated components", "one condition for each"),
        ("EVENT SEQ(A a, B b) WHERE b.a.x = 1", 27, "`a` is a component as well as a field", "another name"),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, column: int, problem: str, remedy: str) -> None:
    with pytest.raises(MalformedPatternError) as caught:
        Pattern.parse(text)
    error = caught.value
    assert problem in error.problem and remedy in error.remedy, str(error)
    if "leaves no room" not in problem:
        assert error.element == f"SASE text, line 1, column {column}", str(error)


def test_errors_in_conditions_are_condition_errors() -> None:
    with pytest.raises(ConditionError):
        Pattern.parse("EVENT SEQ(A a) WHERE a.x >")


def test_two_type_columns_are_refused() -> None:
    with pytest.raises(MalformedPatternError, match="TYPED BY reader"):
        Pattern.parse("EVENT SEQ(A a) TYPED BY reader", type_column="kind")


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(MalformedPatternError, match="is not text"):
        Pattern.parse(5)  # type: ignore[arg-type]


def test_skip_strategies() -> None:
    def skipped(text: str) -> Skip:
        return Pattern.parse(f"EVENT SEQ(A a, B+ b, C skip) {text}").tree.skip

    assert skipped("") == skip.no_skip
    assert skipped("SKIP past last event") == skip.past_last_event
    assert skipped("WHERE skip.x > 3 WITHIN 5 skip to next") == skip.to_next
    assert skipped("STRATEGY strict WITHIN 5 events Skip To First B") == skip.to_first("b")
    assert skipped("WITHIN 5 hours STRATEGY strict SKIP TO LAST skip OR FAIL") == skip.to_last("skip", or_fail=True)
    assert Pattern.parse("EVENT SEQ(A a, B b) WHERE [skip]").tree.partition_by == ("skip",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SKIP to first x", "`x` is not a component that takes events"),
        ("SKIP to last n", "Skip to one of: a, b."),
        ("SKIP to nowhere", "TO NEXT, TO FIRST"),
        ("SKIP past event", "PAST LAST EVENT"),
        ("SKIP to next WITHIN 5", "The clauses come in this order"),
        ("SKIP to next SKIP to next", "SKIP is given twice"),
    ],
)
def test_skip_strategies_that_are_none(text: str, says: str) -> None:
    with pytest.raises(MalformedPatternError, match=r"SASE text, line 1, column [34]") as caught:
        Pattern.parse(f"EVENT SEQ(A a, !(N n), B b) {text}")
    assert says in str(caught.value)
