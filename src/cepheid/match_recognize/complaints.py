"""What the grammar could not read, in words for users: where, what is there, what was expected, what may be meant.

In: lark's error. Out: ours. Called by `reading` alone.
"""

from __future__ import annotations

from difflib import get_close_matches

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from cepheid.conditions.source import Range, Source
from cepheid.errors import MalformedPatternError

_KEYWORDS = {
    "PARTITION": "PARTITION BY",
    "ORDER": "ORDER BY",
    "MEASURES": "MEASURES",
    "AS": "AS",
    "ONE_ROW": "ONE ROW PER MATCH",
    "ALL_ROWS": "ALL ROWS PER MATCH",
    "SHOW_EMPTY": "SHOW EMPTY MATCHES",
    "OMIT_EMPTY": "OMIT EMPTY MATCHES",
    "WITH_UNMATCHED": "WITH UNMATCHED ROWS",
    "AFTER_MATCH_SKIP": "AFTER MATCH SKIP",
    "PAST_LAST_ROW": "PAST LAST ROW",
    "TO_NEXT_ROW": "TO NEXT ROW",
    "TO_FIRST": "TO FIRST",
    "TO_LAST": "TO LAST",
    "TO": "TO",
    "PATTERN": "PATTERN",
    "WITHIN": "WITHIN",
    "INTERVAL": "INTERVAL",
    "SUBSET": "SUBSET",
    "DEFINE": "DEFINE",
}
_OTHERS = {
    "WORD": "a name",
    "NUMBER": "a number",
    "STRING": "a string",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "RBRACE": "`}`",
    "INCLUDE": "`-}`",
    "COMMA": "`,`",
    "BAR": "`|`",
    "EQUALS": "`=`",
    "$END": "the end",
}
_QUANTIFIERS = {"STAR", "PLUS", "QUESTION", "LBRACE"}
_IN_EXPRESSION = "SIGN"
_ORDER = (
    "The parts come in this order: PARTITION BY, ORDER BY, MEASURES, ONE ROW or ALL ROWS PER MATCH, AFTER MATCH SKIP, "
    "PATTERN, SUBSET, DEFINE."
)
_OUTLINE = (
    "A clause looks like: PARTITION BY symbol ORDER BY ts MEASURES LAST(UP.price) AS top PATTERN (STRT DOWN+ UP+) "
    "DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)."
)


def complaint(source: Source, base: int, end: int, error: UnexpectedInput) -> MalformedPatternError:
    """Our error for what lark could not read. The clause is at `base` to `end` of the source."""
    expected = _expected(error)
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return _at_the_end(source, base, end, expected)
    start = base + (error.pos_in_stream or 0)
    token = str(error.token) if isinstance(error, UnexpectedToken) else _word_at(source.text, start)
    place = Range(start, start + max(len(token), 1))
    if isinstance(error, UnexpectedCharacters) and token[:1] in ("'", '"', "`"):
        return source.error(Range(start, start + 1), "a quote is opened but not closed", f"Close it with {token[:1]}.")
    if source.text.startswith("/*", start):
        return source.error(Range(start, start + 2), "a comment is opened but not closed", "Close it with */.")
    before = source.text[base:start].rstrip()
    return source.error(place, f"`{token}` is not expected here", _remedy(token, before, expected))


def _expected(error: UnexpectedInput) -> set[str]:
    if isinstance(error, UnexpectedToken):
        return set(error.accepts or error.expected)
    return set(error.allowed or ()) if isinstance(error, UnexpectedCharacters) else set()


def _at_the_end(source: Source, base: int, end: int, expected: set[str]) -> MalformedPatternError:
    written = source.text[base:end].rstrip()
    if not written:
        return source.error(Range(base, base + 1), "the clause is empty", _OUTLINE)
    place = Range(base + len(written), base + len(written) + 1)
    if "AS" in expected:
        return source.error(place, "a measure has no name", "Write AS and a name after its expression.")
    if "PATTERN" in expected:
        return source.error(place, "the clause has no PATTERN", _OUTLINE)
    return source.error(place, "the clause ends too early", _shown(expected))


def _remedy(token: str, before: str, expected: set[str]) -> str:
    word = token.upper()
    if word in ("SELECT", "WITH", "MATCH_RECOGNIZE") and not before:
        return "Give only what MATCH_RECOGNIZE ( … ) contains; cepheid.sql runs whole queries."
    if word in ("INITIAL", "SEEK"):
        return f"{word} belongs to row patterns in WINDOW; a MATCH_RECOGNIZE clause has no such word. Leave it out."
    if token in (")", "|") and "CARET" in expected and _IN_EXPRESSION not in expected:
        return "A part of the pattern is missing before it; the empty pattern is written ()."
    if token in ("*", "+", "?", "{") and before[-1:] in ("*", "+", "?", "}"):
        return "A part has one quantifier; put parentheses around what the second one repeats: (A*)+."
    if _IN_EXPRESSION in expected and "AS" in expected and word in (",", "ONE", "ALL", "AFTER", "PATTERN"):
        return "A measure needs a name: write AS and a name after its expression."
    keywords = {_KEYWORDS[name]: name for name in sorted(expected) if name in _KEYWORDS}
    firsts = {text.split()[0]: text for text in keywords}
    near = get_close_matches(word, firsts, n=1, cutoff=0.7)
    if near:
        return f"Did you mean {firsts[near[0]]}?"
    if any(name.split()[0] == word for name in _KEYWORDS.values()) or not expected:
        return f"{_ORDER} {_shown(expected)}"
    return _shown(expected)


def _shown(expected: set[str]) -> str:
    """What could be at the place, in one sentence."""
    if _IN_EXPRESSION in expected:
        known = ["an expression"] + [name for name in ("AS",) if name in expected]
    else:
        known = [text for name, text in _OTHERS.items() if name in expected]
        known += ["a quantifier"] * bool(expected >= _QUANTIFIERS)
        known += [text for name, text in _KEYWORDS.items() if name in expected]
    if not known:
        return _OUTLINE
    return f"Expected {' or '.join([', '.join(known[:-1]), known[-1]]) if len(known) > 1 else known[0]}."


def _word_at(text: str, start: int) -> str:
    end = start + 1
    if text[start : start + 1].isalnum():
        while end < len(text) and (text[end].isalnum() or text[end] == "_"):
            end += 1
    return text[start:end]
