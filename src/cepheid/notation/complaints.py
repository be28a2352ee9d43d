"""What the grammar could not read, in words for users: where, what is there, what was expected, what may be meant.

In: lark's error. Out: ours. Called by `reading` alone.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from cepheid.conditions.source import Range, Source
from cepheid.errors import MalformedPatternError

_WORDS = {
    "LINK": "-> or ~> or ~>>",
    "NAME": "a name",
    "COUNT": "a number",
    "UNIT": "a unit of time",
    "JSON": 'a number, "text", true, false or null',
    "LPAR": "(",
    "RPAR": ")",
    "LBRACKET": "[",
    "RBRACKET": "]",
    "RBRACE": "}",
    "RANGLE": ">",
    "BANG": "!",
    "BAR": "|",
    "AMPERSAND": "&",
    "EQUALS": "=",
    "COLON": ":",
    "SEMICOLON": ";",
    "COMMA": ",",
    "$END": "the end",
}
_KEYWORDS = {
    "BEFORE": "before",
    "WITHIN": "within",
    "SINCE": "since",
    "PREVIOUS": "previous",
    "EVENTS": "events",
    "BY": "by",
    "SKIP": "skip",
    "ONCE_PER": "once per",
    "WITH": "with",
    "PAST_LAST_EVENT": "past last event",
    "TO_NEXT": "to next",
    "TO_FIRST": "to first",
    "TO_LAST": "to last",
    "OR_FAIL": "or fail",
    "CONSECUTIVE": "consecutive",
    "COMBINATIONS": "combinations",
    "GREEDY": "greedy",
    "WHOLE": "whole",
    "AT_LEAST": "at least",
    "HAVING": "having",
    "UNTIL": "until",
    "GAPS": "gaps",
    "FOLD": "fold",
    "THEN": "then",
}
_ARROWS = ("__ANON_0", "__ANON_1", "__ANON_2", "MINUS", "TILDE")
OUTLINE = (
    "For example: shelf[reader = 'SHELF'] ~> !counter[reader = 'COUNTER'] ~> exit[reader = 'EXIT'] within 12 "
    "hours, skip past last event; or, in SASE, EVENT SEQ(SHELF x, EXIT z) WITHIN 12 hours."
)


def complaint(source: Source, error: UnexpectedInput) -> MalformedPatternError:
    """Our error for what lark could not read."""
    expected = _expected(error)
    text = source.text.rstrip()
    if not text:
        return source.error(Range(0, 1), "the text is empty", OUTLINE)
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return _at_the_end(source, expected)
    start = error.pos_in_stream or 0
    token = _word_at(source.text, start)  # lark's own may be longer than what is there for a reader
    if isinstance(error, UnexpectedCharacters) and token[:1] in ("'", '"', "`"):
        return source.error(Range(start, start + 1), "a quote is opened but not closed", f"Close it with {token[:1]}.")
    if source.text.startswith("/*", start):
        return source.error(Range(start, start + 2), "a comment is opened but not closed", "Close it with */.")
    place = Range(start, start + max(len(token), 1))
    return source.error(place, f"`{token}` is not expected here", _remedy(token, start, expected))


def _expected(error: UnexpectedInput) -> set[str]:
    if isinstance(error, UnexpectedToken):
        return set(error.accepts or error.expected)
    return set(error.allowed or ()) if isinstance(error, UnexpectedCharacters) else set()


def _at_the_end(source: Source, expected: set[str]) -> MalformedPatternError:
    end = len(source.text.rstrip())
    for name in ("RPAR", "RBRACKET", "RANGLE", "RBRACE"):
        if name in expected:
            missing = f"the text ends, but `{_WORDS[name]}` is missing"
            return source.error(Range(end, end + 1), missing, _shown(expected))
    return source.error(Range(end, end + 1), "the text ends too early", _shown(expected))


def _remedy(token: str, start: int, expected: set[str]) -> str:
    keywords = {_KEYWORDS[name].split()[0]: _KEYWORDS[name] for name in sorted(expected) if name in _KEYWORDS}
    near = get_close_matches(token.lower(), keywords, n=1, cutoff=0.6)
    if near:
        return f"Did you mean `{keywords[near[0]]}`?"
    if start == 0 or expected == {"NAME", "LPAR", "BANG"}:
        return OUTLINE
    return _shown(expected)


def _shown(expected: set[str]) -> str:
    """What could be at the place, in one sentence."""
    if expected & set(_ARROWS):
        expected = expected | {"LINK"}
    if "SQL" in expected:
        return "Expected the rest of the condition and `]`."
    known = [
        text if name in ("LINK", "NAME", "COUNT", "UNIT", "JSON", "$END") else f"`{text}`"
        for name, text in _WORDS.items()
        if name in expected
    ]
    known += [f"`{text}`" for name, text in _KEYWORDS.items() if name in expected]
    if not known:
        return OUTLINE
    return f"Expected {' or '.join([', '.join(known[:-1]), known[-1]]) if len(known) > 1 else known[0]}."


def _word_at(text: str, start: int) -> str:
    found = re.compile(r"\w+|~>>|~>|->|\S|\s").match(text, start)
    return "" if found is None else found[0]
