"""Condition text → expression, names as they were written.

Comes in: SQL text. Goes out: an `Expression`, or a `ConditionError` with a caret under the offending part.
Called by the fluent builder (early, for syntax) and by `binding`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from sqlglot import ParseError, Token, TokenError, TokenType, exp

from cepheid.conditions.carets import Span, condition_error
from cepheid.conditions.dialect import parse_tokens, tokenize
from cepheid.conditions.expression import Expression
from cepheid.conditions.reader import Reader
from cepheid.conditions.words import begins_statement, first_of_query
from cepheid.errors import ConditionError

_Read = TypeVar("_Read")
_NOT_SQL = {"&&": "AND", "||": "OR (|| joins strings)", "!": "NOT"}


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """The expression that a condition's text says."""
    return read(text, lambda node: Reader(text).read(node))


def read(
    text: str,
    reader: Callable[[exp.Expr], _Read],
    parser: Callable[[list[Token], str], exp.Expr | None] = parse_tokens,
) -> _Read:
    """What a reader makes of a text's syntax tree; where there is none, or it is nested too deeply, that is said.
    `parser` is for text of a wider grammar than that of conditions."""
    if not isinstance(text, str):
        raise ConditionError("condition", f"{text!r} is not text", 'a condition is SQL text, such as "amount > 100"')
    try:
        tokens = tokenize(text)
    except TokenError:
        opening = _unclosed(text)
        span = Span(text, opening, len(text))
        raise condition_error(span, "a quote or comment is opened but not closed", "close it") from None
    _refuse_statements(text, tokens)
    try:
        node = parser(tokens, text)
        if node is None:
            raise condition_error(
                Span(text, 0, len(text)), "this is not a value", "write what must hold, such as a > 1"
            )
        return reader(node)
    except ParseError as error:
        raise _syntax_error(text, tokens, error) from None
    except RecursionError:
        raise condition_error(
            Span(text, 0, len(text)), "the condition is nested too deeply", "split it into several `where` conditions"
        ) from None


def check_text(text: str, place: str) -> Expression:
    """The expression that an element's text says; an error names the element (`place`)."""
    try:
        return parse(text)
    except ConditionError as error:
        raise ConditionError(place, error.problem, error.remedy) from None


def _unclosed(text: str) -> int:
    """Where the string, quoted name or comment begins that the text does not close."""
    position = 0
    while position < len(text):
        if text.startswith("/*", position):
            closed = text.find("*/", position + 2)
            if closed < 0:
                return position
            position = closed + 2
        elif text[position] in "'\"`":
            opening, quote = position, text[position]
            position += 1
            while position < len(text) and text[position] != quote:
                position += 2 if text[position] == "\\" and quote != "`" else 1
            if position >= len(text):
                return opening
            position += 1
        else:
            position += 1
    return 0


def _refuse_statements(text: str, tokens: list[Token]) -> None:
    if not tokens:
        raise ConditionError(
            "condition",
            "the text is empty",
            'write what must hold, such as "amount > 100"; for an element that takes any event leave `where` out',
        )
    for token in tokens:
        span = Span(text, token.start, token.end + 1)
        if token.token_type is TokenType.SEMICOLON:
            raise condition_error(span, "a condition is one expression, without `;`", "join conditions with AND")
    queried = first_of_query(tokens)
    if queried is not None:
        span = Span(text, queried.start, queried.end + 1)
        problem = "a condition cannot contain a query"
        raise condition_error(span, problem, "join what it reads to the events before matching")
    _refuse_empty_places(text, tokens)
    if begins_statement(tokens):
        first = tokens[0]
        problem = f"`{first.text}` begins a statement; a condition is an expression that is true or false"
        raise condition_error(Span(text, first.start, first.end + 1), problem, 'write one such as "amount > 100"')


def _refuse_empty_places(text: str, tokens: list[Token]) -> None:
    """sqlglot reads over a missing item of a list and an unclosed parenthesis is told late: both are said here."""
    opened: list[Token] = []
    previous: Token | None = None
    for token in tokens:
        kind = token.token_type
        comma_before = previous is not None and previous.token_type is TokenType.COMMA
        if (comma_before and kind in (TokenType.COMMA, TokenType.R_PAREN)) or (
            kind is TokenType.COMMA and previous is not None and previous.token_type is TokenType.L_PAREN
        ):
            span = Span(text, token.start, token.end + 1)
            raise condition_error(span, f"something is missing before `{token.text}`", "complete the list")
        if kind is TokenType.L_PAREN:
            opened.append(token)
        elif kind is TokenType.R_PAREN:
            if not opened:
                span = Span(text, token.start, token.end + 1)
                raise condition_error(span, "this parenthesis closes nothing", "check the parentheses")
            opened.pop()
        previous = token
    if opened:
        span = Span(text, opened[-1].start, opened[-1].end + 1)
        raise condition_error(span, "this parenthesis is not closed", "check the parentheses")


def _syntax_error(text: str, tokens: list[Token], error: ParseError) -> ConditionError:
    """sqlglot's complaint in our words; it names the last token that it could read."""
    detail = error.errors[0] if error.errors else {}
    description = str(detail.get("description", ""))
    line, column = detail.get("line"), detail.get("col")
    at = next((token for token in tokens if token.line == line and token.col == column), tokens[-1])
    span = Span(text, at.start, at.end + 1)
    if description.startswith("Required keyword"):
        return condition_error(span, f"a value is missing next to `{at.text}`", "complete the expression")
    if "END" in description:
        return condition_error(span, "CASE is not closed", "write CASE WHEN … THEN … ELSE … END")
    if at.text.upper() == "AS":
        return condition_error(span, "a condition has no alias", "leave `AS …` out")
    problem = f"`{at.text}` is not expected here"
    if at.text in _NOT_SQL:
        return condition_error(span, problem, f"SQL writes {_NOT_SQL[at.text]}")
    return condition_error(span, problem, "check for a missing AND, operator, comma or parenthesis before it")
