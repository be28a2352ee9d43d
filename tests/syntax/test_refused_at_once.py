"""Rejections that the builder makes at the very step that is wrong."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
from syntax.refusals import refused

from cepheid.errors import MalformedPatternError
from cepheid.syntax import PatternBuilder as Pattern

A = Pattern.begin("a")
GROUP = Pattern.begin("x").next("y")

Rejection = tuple[Callable[[], object], str, str, str]
"""What is done, and of the error: the element, a part of the problem, a part of the remedy."""


AT_ONCE: dict[str, Rejection] = {
    "begin twice": (lambda: A.begin("b"), "element 'b'", "cannot follow element 'a'", "followed_by"),
    "begin a group twice": (lambda: A.begin(GROUP), "group (x, y)", "cannot follow element 'a'", "next"),
    "next first": (lambda: Pattern().next("a"), "element 'a'", "nothing to follow", 'Pattern.begin("a")'),
    "a not first": (lambda: Pattern().not_next("a"), "not 'a'", "nothing to follow", 'Pattern.begin("a")'),
    "a not after not_before": (lambda: Pattern.not_before("n").not_next("a"), "not 'a'", "nothing to follow", "begin"),
    "not_before later": (lambda: A.not_before("n"), "not_before 'n'", "cannot follow element 'a'", "not_followed_by"),
    "a number as name": (lambda: Pattern.begin(3), "begin(…)", "given 3", "a group"),  # type: ignore[arg-type]
    "a group as not": (lambda: A.not_next(GROUP), "not_next(…)", "a group", '"a"'),  # type: ignore[arg-type]
    "an empty name": (lambda: Pattern.begin(""), "element ''", "empty", "at least one"),
    "a name with a blank at its end": (lambda: A.next("b "), "element 'b '", "'b ' is not a name", "no blank"),
    "a name with a backquote": (lambda: A.not_next("`b`"), "not '`b`'", "not a name", "backquote"),
    "a bad name of not_before": (lambda: Pattern.not_before(" "), "not_before ' '", "not a name", "no blank"),
    "a bad name of a fold": (
        lambda: A.fold("a\nb", init="0", update="1"),
        "fold 'a\\nb' of element 'a'",
        "not a name",
        "line break",
    ),
    "a name twice": (lambda: A.next("b").next("a"), "element 'a'", "already taken by element 'a'", "its own name"),
    "a name twice but for case": (lambda: A.next("A"), "element 'A'", "already taken by element 'a'", "lower case"),
    "a not with a variable's name": (lambda: A.not_next("a"), "not 'a'", "taken by element 'a'", "its own name"),
    "a variable with a not_before's name": (
        lambda: Pattern.not_before("a").begin("a"),
        "element 'a'",
        "taken by not_before 'a'",
        "its own name",
    ),
    "a fold with a variable's name": (
        lambda: A.fold("A", init="0", update="1"),
        "fold 'A' of element 'a'",
        "taken by element 'a'",
        "its own name",
    ),
    "a name twice across groups": (
        lambda: Pattern.begin(GROUP).next("y"),
        "element 'y'",
        "taken by element 'y'",
        "its own name",
    ),
    "where before any element": (lambda: Pattern().where("x"), "the pattern", "before any element", "begin"),
    "where on a group": (
        lambda: A.next(GROUP).where("p"),
        "group (x, y)",
        "where cannot apply to it as a whole",
        "inside",
    ),
    "or_where on a group": (lambda: A.next(GROUP).or_where("p"), "group (x, y)", "or_where cannot", "inside"),
    "where with nothing": (lambda: A.where(), "element 'a'", "where has no condition", "price > 10"),
    "an empty condition": (lambda: A.where(""), "element 'a'", "condition is empty", "price > 10"),
    "a blank condition": (lambda: A.not_next("b").where(" \n"), "not 'b'", "condition is empty", "price > 10"),
    "a number as condition": (lambda: A.where(3), "element 'a'", "3 (int) is not a condition", "callable"),
    "a callable of one argument": (
        lambda: A.where(len),
        "element 'a'",
        "len(obj, /) does not take two",
        "lambda event",
    ),
    "a skip strategy as it is printed": (
        lambda: A.skip("past last event"),  # type: ignore[arg-type]
        "the pattern",
        "not a skip strategy",
        "Did you mean 'past_last_event'?",
    ),
    "a text as pattern": (lambda: Pattern("a"), "the pattern", "'a' is not a pattern", ".begin('name')"),  # type: ignore
    "None as condition": (lambda: A.where(None), "element 'a'", "None (NoneType)", "leave the condition out"),
    "until on a single": (lambda: A.until("x"), "element 'a'", "taken once", "one_or_more()"),
    "until on a bounded loop": (lambda: A.times(2, 3).until("x"), "element 'a'", "ends after 3", "times_or_more(n)"),
    "until on a group taken once": (lambda: Pattern.begin(GROUP).until("x"), "group (x, y)", "once", "one_or_more()"),
    "until twice": (lambda: A.one_or_more().until("x").until("y"), "element 'a'", "already has", "in one until"),
    "until on a not": (lambda: A.not_next("b").until("x"), "not 'b'", "cannot apply to a negation", "takes events"),
    "an empty until": (lambda: A.one_or_more().until(""), "until of element 'a'", "condition is empty", "price > 10"),
    "times on a not": (lambda: A.not_next("b").times(2), "not 'b'", "times cannot apply to a negation", "takes events"),
    "one_or_more on a not": (lambda: A.not_next("b").one_or_more(), "not 'b'", "cannot apply", "takes events"),
    "optional on a not": (lambda: A.not_followed_by("b").optional(), "not 'b'", "cannot apply", "takes events"),
    "times on a not_before": (lambda: Pattern.not_before("n").times(2), "not_before 'n'", "none yet", "begin"),
    "optional on nothing": (lambda: Pattern().optional(), "the pattern", "none yet", "begin"),
    "a second quantifier": (lambda: A.times(2).one_or_more(), "element 'a'", "second quantifier", "into a group"),
    "n > m": (lambda: A.times(3, 2), "element 'a'", "at least 3 and at most 2", "times(2, 3)"),
    "a negative count": (lambda: A.times(-1), "element 'a'", "negative count -1", "1 or more"),
    "a negative least": (lambda: A.times(-1, 2), "element 'a'", "negative count -1", "1 or more"),
    "a negative most": (lambda: A.times(1, -2), "element 'a'", "negative count -2", "1 or more"),
    "a negative times_or_more": (lambda: A.times_or_more(-3), "element 'a'", "negative count -3", "1 or more"),
    "times(0)": (lambda: A.times(0), "element 'a'", "no event at all", "not_next"),
    "times(0, 0)": (lambda: A.times(0, 0), "element 'a'", "no event at all", "at least 1"),
    "half a time": (lambda: A.times(1.5), "element 'a'", "1.5 where a whole number", "whole"),  # type: ignore[arg-type]
    "True times": (lambda: A.times(True), "element 'a'", "True where a whole number", "whole"),
    "greedy on a single": (lambda: A.greedy(), "element 'a'", "greedy applies to a loop", "one_or_more()"),
    "greedy on a group": (lambda: Pattern.begin(GROUP).times(2).greedy(), "group (x, y)", "greedy", "a loop inside"),
    "consecutive on a single": (lambda: A.consecutive(), "element 'a'", "applies to a loop", "one_or_more()"),
    "allow_combinations on an optional single": (
        lambda: A.optional().allow_combinations(),
        "element 'a'",
        "applies to a loop",
        "times(…)",
    ),
    "two inner contiguities": (
        lambda: A.times(2).consecutive().allow_combinations(),
        "element 'a'",
        "both consecutive and with combinations",
        "Keep one",
    ),
    "a gap before the first": (lambda: A.times(3, within={1: 5}), "element 'a'", "bounds nothing", 'since="previous"'),
    "a gap before the zeroth": (lambda: A.times(3, within={0: 5}), "element 'a'", "does not exist", "from 2 to 3"),
    "a gap beyond the maximum": (lambda: A.times(2, within={3: 5}), "element 'a'", "does not exist", "from 2 to 2"),
    "a gap where nothing repeats": (lambda: A.times(1, within={2: 5}), "element 'a'", "does not exist", "repeats once"),
    "no gaps": (lambda: A.times(3, within={}), "element 'a'", "are empty", 'within="5 s"'),
    "a gap at a text": (
        lambda: A.times(3, within={"2": 5}),  # type: ignore[dict-item]
        "element 'a'",
        "'2' where a whole number",
        "whole",
    ),
    "a zero gap": (lambda: A.times(3, within="0 s"), "element 'a'", "of 0 seconds leaves no room", "greater than zero"),
    "an unreadable gap": (lambda: A.times(3, within="5"), "element 'a'", "no unit", "10 minutes"),
    "a fold on a group": (
        lambda: Pattern.begin(GROUP).fold("z", init="0", update="1"),
        "group (x, y)",
        "cannot have a fold",
        "its elements",
    ),
    "a fold on a not": (lambda: A.not_next("b").fold("z", init="0", update="1"), "not 'b'", "fold cannot", "takes"),
    "an empty fold": (lambda: A.fold("z", init=" ", update="1"), "fold 'z' of element 'a'", "init is empty", "SQL"),
    "a number in a fold": (
        lambda: A.fold("z", init=0, update="1"),  # type: ignore[arg-type]
        "fold 'z'",
        "init is 0",
        'init="0"',
    ),
    "a window of nothing": (lambda: A.within(), "the pattern", "neither", "within(events=10)"),
    "a window of both": (lambda: A.within("5 s", events=3), "the pattern", "both", "within(events=10)"),
    "a zero window": (lambda: A.within("0 s"), "the pattern", "of 0 seconds leaves no room", "greater than zero"),
    "a negative window": (lambda: A.within(-5), "the pattern", "of -5 leaves no room", "greater than zero"),
    "an infinite window": (lambda: A.within(float("inf")), "the pattern", "window is inf", "at most"),
    "a window of no events": (lambda: A.within(events=0), "the pattern", "holds 0 events", "1 event or more"),
    "a window of half an event": (
        lambda: A.within(events=1.5),  # type: ignore[arg-type]
        "the pattern",
        "1.5 where a whole number",
        "whole",
    ),
    "two windows": (lambda: A.within("5 s").within("6 s"), "the pattern", "already has a window", "since"),
    "a time and a count window": (lambda: A.within("5 s").within(events=3), "the pattern", "already has", "once"),
    "since what is no name": (
        lambda: A.within("5 s", since=3),  # type: ignore[arg-type]
        "within(…, since=…)(…)",
        "it was given 3 for a name",
        'such as "a"',
    ),
    "since previous on nothing": (
        lambda: Pattern.not_before("n").within("5 s", since="previous"),
        "the pattern",
        "none yet",
        "followed_by",
    ),
    "since previous in events": (
        lambda: A.next("b").within(events=3, since="previous"),
        "element 'b'",
        "cannot count events",
        "length of time",
    ),
    "since previous twice": (
        lambda: A.next("b").within("5 s", since="previous").within("6 s", since="previous"),
        "element 'b'",
        "already has a window since",
        "once",
    ),
    "since previous zero": (lambda: A.next("b").within(0, since="previous"), "element 'b'", "no room", "than zero"),
    "since previous larger than the window": (
        lambda: A.next("b").within("3 s", since="previous").within("2 s"),
        "element 'b'",
        "window since the previous event of 3 seconds is larger than the window of the whole pattern, 2 seconds",
        "at most 2 seconds",
    ),
    "a gap larger than the window": (
        lambda: A.within(4).next("b").times(3, within={2: 4, 3: 5}),
        "element 'b'",
        "window between its repetitions of 5 is larger",
        "at most 4",
    ),
    "a not's window larger than the pattern's": (
        lambda: A.within(4).not_next("b").within(5, since="previous"),
        "not 'b'",
        "larger",
        "at most 4",
    ),
    "mixed units": (
        lambda: A.within("10 minutes").next("b").within(5, since="previous"),
        "element 'b'",
        "the plain number 5, but the window of the pattern is a duration, 10 minutes",
        "one kind throughout",
    ),
    "mixed units in a loop": (
        lambda: A.times(3, within={2: 5, 3: "5 s"}),
        "element 'a'",
        "a duration, 5 seconds",
        "one kind throughout",
    ),
    "a group with a window": (lambda: A.next(GROUP.within(5)), "group (x, y)", "with a window", "whole pattern"),
    "a group with a skip strategy": (
        lambda: A.next(GROUP.skip("to_next")),
        "group (x, y)",
        "with a skip strategy",
        "whole pattern",
    ),
    "a group with a not_before": (
        lambda: Pattern.begin(Pattern.not_before("n").begin("x")),
        "group (x)",
        "with a not_before",
        "whole pattern",
    ),
    "an empty group": (lambda: Pattern.begin(Pattern()), "group ()", "empty", 'Pattern.begin("a")'),
    "no skip strategy": (lambda: A.skip("later"), "the pattern", "'later' is not a skip", "skip.to_next"),  # type: ignore[arg-type]
    "a list as skip strategy": (lambda: A.skip([]), "the pattern", "[] is not a skip", "skip.to_next"),  # type: ignore[arg-type]
    "two skip strategies": (lambda: A.skip("to_next").skip("past_last_event"), "the pattern", "already has", "once"),
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_refused_at_the_step_that_is_wrong(name: str) -> None:
    refused(*AT_ONCE[name])


def test_the_error_survives_pickling() -> None:
    with pytest.raises(MalformedPatternError) as error:
        A.times(3, 2)
    copy = pickle.loads(pickle.dumps(error.value))
    assert (copy.element, copy.remedy) == (error.value.element, error.value.remedy)
    assert str(copy) == str(error.value)
