"""What the grammar could not read, in words for users: where, what is there, what was expected, what may be meant.

In: lark's error. Out: ours. Called by `parsing` alone.
"""

from __future__ import annotations

from difflib import get_close_matches

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from cepheid.conditions.source import Range, Source
from cepheid.errors import MalformedPatternError

_KEYWORDS = {
    "EVENT": "EVENT",
    "SEQ": "SEQ",
    "TYPED": "TYPED BY",
    "WHERE": "WHERE",
    "STRATEGY": "STRATEGY",
    "WITHIN": "WITHIN",
    "SKIP": "SKIP",
}
_CLAUSES = ("TYPED", "WHERE", "STRATEGY", "WITHIN", "SKIP")
_SIGNS = {"LPAR": "`(`", "RPAR": "`)`", "LBRACKET": "`[`", "RBRACKET": "`]`", "LBRACE": "`{`", "RBRACE": "`}`"}
_WORDS = {
    "COMMA": "`,`",
    "PLUS": "`+`",
    "BANG": "`!`",
    "WORD": "a name",
    "STRATEGY_NAME": "the name of a strategy",
    "NUMBER": "a number",
    "STRING": "a string",
    "ANY": "ANY",
    "PAST_LAST_EVENT": "PAST LAST EVENT",
    "TO_NEXT": "TO NEXT",
    "TO_FIRST": "TO FIRST",
    "TO_LAST": "TO LAST",
    "OR_FAIL": "OR FAIL",
    "$END": "the end",
}
_IN_CONDITIONS = {"NAME", "INDEXED", "SIGN"}
_OUTLINE = "For example: EVENT SEQ(SHELF x, !(COUNTER y), EXIT z) WHERE [tag] AND z.price > x.price WITHIN 12 hours."


def complaint(source: Source, error: UnexpectedInput) -> MalformedPatternError:
    """Our error for what lark could not read."""
    expected = _expected(error)
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return _at_the_end(source, expected)
    start = error.pos_in_stream or 0
    if isinstance(error, UnexpectedToken):
        token = str(error.token)
        place = Range(start, start + max(len(token), 1))
    else:
        token = _word_at(source.text, start)
        place = Range(start, start + len(token))
    if isinstance(error, UnexpectedCharacters) and token[:1] in ("'", '"', "`"):
        return source.error(Range(start, start + 1), "a quote is opened but not closed", f"Close it with {token[:1]}.")
    if source.text.startswith("/*", start):
        return source.error(Range(start, start + 2), "a comment is opened but not closed", "Close it with */.")
    return source.error(place, f"`{token}` is not expected here", _remedy(source, token, start, expected))


def _expected(error: UnexpectedInput) -> set[str]:
    if isinstance(error, UnexpectedToken):
        return set(error.accepts or error.expected)
    if isinstance(error, UnexpectedCharacters):
        return set(error.allowed or ())
    return set()


def _at_the_end(source: Source, expected: set[str]) -> MalformedPatternError:
    text = source.text.rstrip()
    place = Range(len(text), len(text) + 1)
    if not text:
        return source.error(Range(0, 1), "the text is empty", _OUTLINE)
    if "RPAR" in expected or "RBRACKET" in expected:
        missing = "`)`" if "RPAR" in expected else "`]`"
        return source.error(place, f"the text ends, but {missing} is missing", _shown(expected))
    return source.error(place, "the text ends too early", _shown(expected))


def _remedy(source: Source, token: str, start: int, expected: set[str]) -> str:
    keywords = {_KEYWORDS[name]: name for name in sorted(expected) if name in _KEYWORDS}
    near = get_close_matches(token.upper(), keywords, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {near[0]}?"
    if expected == {"EVENT"}:
        return _OUTLINE
    if token.upper() == "RETURN":
        return "There is no RETURN: a match holds all events that its components take."
    if token.upper() == "SEQ":
        return "SEQ cannot contain another SEQ: list all components in one."
    if token == "!" and "RPAR" in expected:
        return "Put a comma before a negated component."
    if token.upper() in _CLAUSES and {"COMMA", "RPAR"} <= expected and not _IN_CONDITIONS & expected:
        return "`)` is missing before it: SEQ( is not closed."
    clauses = [name for name in _KEYWORDS.values() if name.split()[0] == token.upper()]
    if clauses:
        if token.upper() in source.text[:start].upper().split():
            return f"{clauses[0]} is given twice. {_shown(expected)}"
        return f"The clauses come in this order: EVENT, TYPED BY, WHERE, STRATEGY, WITHIN, SKIP. {_shown(expected)}"
    return _shown(expected)


def _shown(expected: set[str]) -> str:
    """What could be at the place, in one sentence."""
    in_conditions = bool(_IN_CONDITIONS & expected)
    known = ["a condition"] if in_conditions else [_WORDS[name] for name in _WORDS if name in expected]
    known += [_SIGNS[name] for name in _SIGNS if name in expected and (name == "RPAR" or not in_conditions)]
    known += [_KEYWORDS[name] for name in _KEYWORDS if name in expected]
    if not known:
        return _OUTLINE
    return f"Expected {' or '.join([', '.join(known[:-1]), known[-1]]) if len(known) > 1 else known[0]}."


def _word_at(text: str, start: int) -> str:
    end = start + 1
    if text[start : start + 1].isalnum():
        while end < len(text) and (text[end].isalnum() or text[end] == "_"):
            end += 1
    return text[start:end]
