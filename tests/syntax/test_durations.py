"""Lengths of time: what is read, what is refused and why, and that text round-trips."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from syntax.strategies import durations

from cepheid.errors import MalformedPatternError
from cepheid.syntax.durations import to_span, to_text
from cepheid.syntax.tree import Span, SpanUnit

SECOND = 1_000_000


def microseconds(length: int) -> Span:
    return Span(length, SpanUnit.MICROSECOND)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("10 minutes", 600 * SECOND),
        ("1 day 2 hours", 26 * 3600 * SECOND),
        ("1 Day, 2 HOURS", 26 * 3600 * SECOND),
        ("1d2h", 26 * 3600 * SECOND),
        ("5 s", 5 * SECOND),
        ("5sec", 5 * SECOND),
        ("500 ms", SECOND // 2),
        ("1.5 hours", 5400 * SECOND),
        (".5 h", 1800 * SECOND),
        ("2 weeks", 14 * 86400 * SECOND),
        ("1 w", 7 * 86400 * SECOND),
        ("3 m", 180 * SECOND),
        ("7 us", 7),
        ("7 µs", 7),
        ("7 \u03bcs", 7),
        ("0.001 ms", 1),
        ("  1   minute  ", 60 * SECOND),
        ("0 seconds", 0),
    ],
)
def test_text_is_read(text: str, length: int) -> None:
    span = to_span(text, "the pattern")
    assert span == microseconds(length)
    assert isinstance(span.length, int)


def test_timedeltas_and_numbers_are_read() -> None:
    assert to_span(timedelta(days=1, microseconds=3), "x") == microseconds(86400 * SECOND + 3)
    assert to_span(pd.Timedelta("2s"), "x") == microseconds(2 * SECOND)
    assert to_span(7, "x") == Span(7, SpanUnit.ORDER)
    assert to_span(2.5, "x") == Span(2.5, SpanUnit.ORDER)
    assert type(to_span(np.int32(7), "x").length) is int  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "problem", "remedy"),
    [
        ("3 months", "months and years differ in length", "30 days"),
        ("1 year", "months and years differ in length", "30 days"),
        ("5 ns", "kept to the microsecond", "1 us"),
        ("10", "no unit after 10", "10 minutes"),
        ("1 day 2", "no unit after 2", "10 minutes"),
        ("10 minuets", "unknown unit 'minuets'", "10 minutes"),
        ("ten minutes", "cannot be read from 'ten minutes' on", "10 minutes"),
        ("1:30:00", "cannot be read from '1:30:00' on", "10 minutes"),
        ("", "empty string", "10 minutes"),
        ("   ", "empty string", "10 minutes"),
        ("-5 minutes", "negative", "greater than zero"),
        ("1 h 2 h", "two parts in hours", "each unit once"),
        ("0.5 us", "not a whole number of microseconds", "round"),
        ("99999999999 weeks", "more than a 64-bit number holds", "292,000 years"),
        (timedelta.max, "more than a 64-bit number holds", "292,000 years"),
        (2**63, "more than a 64-bit number holds", "at most"),
        (True, "True (bool) is not a length", "10 minutes"),
        (None, "None (NoneType) is not a length", "10 minutes"),
        (pd.Timedelta("1ns"), "nanoseconds", "microsecond"),
    ],
)
def test_what_is_refused(given: object, problem: str, remedy: str) -> None:
    with pytest.raises(MalformedPatternError) as error:
        to_span(given, "element 'b'")  # type: ignore[arg-type]
    assert error.value.element == "element 'b'"
    assert problem in error.value.problem
    assert remedy in error.value.remedy


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (600 * SECOND, "10 minutes"),
        (SECOND, "1 second"),
        (26 * 3600 * SECOND, "26 hours"),
        (14 * 86400 * SECOND, "2 weeks"),
        (86400 * SECOND + 1, "1 day 1 microsecond"),
        (1_500_000, "1500 milliseconds"),
        (0, "0 seconds"),
    ],
)
def test_the_shortest_exact_text(length: int, text: str) -> None:
    assert to_text(microseconds(length)) == text


def test_numbers_stay_numbers() -> None:
    assert to_text(Span(5, SpanUnit.ORDER)) == "5"
    assert to_text(Span(0.1, SpanUnit.ORDER)) == "0.1"


@given(durations())
def test_text_round_trips(span: Span) -> None:
    assert to_span(to_text(span), "x") == span
