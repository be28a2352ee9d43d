"""Text that cannot be read: always one of Cepheid's errors, with line, column, the line, a caret and a hint."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from syntax.strategies import patterns

from cepheid import Pattern
from cepheid.errors import MalformedPatternError
from cepheid.notation import read
from cepheid.syntax.notation import to_text

GOOD = (
    "!m[x = 1], !n before a[x = 1]+<consecutive; greedy; gaps {2: 5, 3: 6}> ~>> (b -> c){2,3}? within 5 events",
    "shelf[reader = 'SHELF'] ~> !counter[y > 1] -> exit<within 1 day 2 h since previous> within 12 hours, by tag, k",
    "(a | b* | (c -> d)) ~> (e & f & g)<at least 2; fold z = [0] then [z + 1]> ~> h+<whole; having [x]> once per 5",
    "a{2,}<until [x = ']']; combinations> -> b<within 5 since a> within 9, skip to first `a b` or fail",
)
SIGNS = [
    *"()[]{}<>!|&+*?,;:='\"`-~",
    "->",
    "~>",
    "~>>",
    "within",
    "skip",
    "by",
    "to first",
    "5",
    "events",
    "a",
    "[x = 1]",
    "before",
]


def refusal(text: str) -> str | None:
    try:
        read(text)
    except MalformedPatternError as error:
        return str(error)
    return None


def points_into(text: str, message: str) -> bool:
    """Whether a message shows a line of the text, names its line and column, and has carets below that column."""
    found = re.match(r"pattern text, line (\d+), column (\d+): ", message)
    if found is None:  # what concerns the pattern as a whole has no place in the text
        return message.startswith(("the pattern", "skip", "group", "one_of", "all_of"))
    line, column = int(found[1]), int(found[2])
    shown = text.split("\n")[line - 1].rstrip("\r")
    return re.search(re.escape(f"    {shown}\n    ") + rf"\s{{{column - 1}}}\^+\n  \S", message) is not None


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A right text with something put in or taken out."""
    text = draw(st.one_of(st.sampled_from(GOOD), patterns().map(to_text)))
    for _ in range(draw(st.integers(1, 2))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.integers(0, 4))
        text = text[:start] + draw(st.sampled_from(["", *SIGNS])) + text[end:]
    return text


@given(st.one_of(damaged(), st.lists(st.sampled_from(SIGNS), max_size=12).map(" ".join), st.text()))
@example("(" * 1_500)
@example("(" * 1_500 + "a" + ")" * 1_500)
@example("a[" + "(" * 1_500 + "x" + ")" * 1_500 + "]")
@example("a" + "[" * 1_500)
def test_whatever_the_text_is_the_error_is_ours(text: str) -> None:
    message = refusal(text)
    if message is not None and "nested too deeply" not in message:
        assert points_into(text, message), message


@pytest.mark.parametrize("text", GOOD)
def test_every_beginning_of_a_right_text_is_read_or_refused(text: str) -> None:
    for end in range(len(text)):
        message = refusal(text[:end])
        assert message is None or points_into(text[:end], message), message


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("", 1, "the text is empty"),
        ("a ~> b witin 5", 8, "Did you mean `within`?"),
        ("a[x = 1 ~> b", 13, "`]` is missing"),
        ("a[x = ] ~> b", 5, "is missing next to"),
        ("a[x ==== 1]", 7, "is missing next to"),
        ("a[] ~> b", 2, "the brackets are empty"),
        ("a ~> b[x = 'y]", 12, "a quote is opened but not closed"),
        ("a ~>> !b", 3, "`~>>` leads to an event"),
        ("a ~> b within 5 months", 15, "months and years differ in length"),
        ("a<greedy>", 3, "belongs to an element that repeats"),
        ("a+<greedy; greedy>", 12, "this is said twice"),
        ("a+<gredy>", 4, "Did you mean `greedy`?"),
        ("a{0,3}", 2, "counts from 1"),
        ("a ~> (b", 8, "`)` is missing"),
        ("a ~> a", 6, "already taken"),
        ("a within 5, within 6", 13, "`within` is given twice"),
        ("a ~> b[x > SUM(c.x)]", 12, "not a variable"),
        ("a -- comment\n  ~> b[x > ]", 10, "is missing next to"),
        ("a, b", 2, "`,` is not expected here"),
        ("a skip past event", 8, "past last event"),
        ("a+<at least 2>", 4, "belongs to all of"),
        ("a /* open", 3, "a comment is opened but not closed"),
    ],
)
def test_errors_show_the_place_and_the_way_out(text: str, column: int, says: str) -> None:
    message = refusal(text)
    assert message is not None and says in message
    assert re.match(rf"pattern text, line \d+, column {column}: ", message), message
    assert points_into(text, message)


def test_a_type_column_is_for_sase() -> None:
    with pytest.raises(ValueError, match="type_column is for SASE text"):
        Pattern.parse("a ~> b", type_column="kind")
