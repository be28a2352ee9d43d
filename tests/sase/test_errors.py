"""Text that cannot be read: always one of Cepheid's errors, with line, column, the line, a caret and a hint."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sase.texts import GOOD, damaged, soup

from cepheid import Pattern
from cepheid.errors import MalformedPatternError


def refusal(text: str) -> str | None:
    """The message with which a text is refused; anything but an error of Cepheid passes through and fails the test."""
    try:
        Pattern.parse(text)
    except MalformedPatternError as error:
        return str(error)
    return None


def points_into(text: str, message: str) -> bool:
    """Whether a message shows a line of the text, names its line and column, and has carets below that column."""
    found = re.match(r"(?:SASE|pattern) text, line (\d+), column (\d+): ", message)
    assert found is not None, message
    line, column = int(found[1]), int(found[2])
    shown = text.split("\n")[line - 1].rstrip("\r")
    marked = re.escape(f"    {shown}\n    ") + rf"\s{{{column - 1}}}\^+\n  \S"
    return re.search(marked, message) is not None


@given(st.one_of(damaged(), soup(), st.text()))
@example("EVENT SEQ(A a) WHERE " + "(" * 2000 + "a.x = 1" + ")" * 2000)
@example("EVENT SEQ(A a) WHERE " + "(" * 2000)
@example("EVENT SEQ(A a) WHERE a.x" + " + a.x" * 3000 + " > 1")
def test_whatever_the_text_is_the_error_is_ours(text: str) -> None:
    message = refusal(text)
    if message is not None and "nested too deeply" not in message:
        assert points_into(text, message), message


@pytest.mark.parametrize("text", GOOD)
def test_every_beginning_of_a_right_text_is_read_or_refused(text: str) -> None:
    for end in range(len(text)):
        message = refusal(text[:end])
        assert message is None or points_into(text[:end], message)
