"""MATCH_RECOGNIZE clauses in a query: found, and cut out one after the other.

In: the text of a query. Out: the first clause with the input that it reads and the common table expressions that this
input may name. Whoever runs the query replaces input and clause by the name of a view and looks for the next one;
clauses come in the order of their text, so a clause whose input holds another one comes after that.

Strings, quoted names and comments are skipped. Only what says where a table begins is looked at: all other SQL is
Spark's, untouched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cepheid.conditions.source import Range, Source
from cepheid.match_recognize.reading import read
from cepheid.rowpattern.binding import CALLED
from cepheid.rowpattern.model import RowPattern

_TOKEN = re.compile(
    r"""
    (?P<skip>\s+|--[^\n]*|/\*.*?\*/)
  | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
  | (?P<name>`(?:[^`]|``)*`|[^\W\d]\w*)
  | (?P<other>\d[\w.]*|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BEFORE_A_TABLE = frozenset({"FROM", "JOIN", ",", "(", "LATERAL", "TABLE"})
_NO_ALIAS = frozenset({"FROM", "JOIN", "LATERAL", "ON", "USING", "SELECT", "WHERE", "TABLE"})


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a sign or a string. `text` is upper case for words, so that they can be compared."""

    text: str
    start: int
    end: int
    is_name: bool


@dataclass(frozen=True, slots=True)
class FoundClause:
    """A clause in a query: what is to be replaced, the input's SQL, the row pattern."""

    place: Range
    """From the beginning of the input to the end of the clause."""
    input_sql: str
    with_sql: str
    """The common table expressions in scope, as `WITH … ` or nothing."""
    pattern: RowPattern


def first_clause(text: str, original: str, shift: int, from_position: int = 0) -> FoundClause | None:
    """The first MATCH_RECOGNIZE of the text from a position on; None if there is none.

    The text from the clause on is that of the `original`, `shift` characters further on: there errors show it.
    """
    tokens = tokenize(text)
    for at, token in enumerate(tokens):
        follows = tokens[at + 1] if at + 1 < len(tokens) else None
        is_word = token.is_name and token.text == "MATCH_RECOGNIZE" and token.start >= from_position
        if not is_word or follows is None or follows.text != "(":
            continue
        source = Source(original, CALLED)
        shown = Range(token.start + shift, token.end + shift)
        close = _closing(tokens, at + 1)
        if close is None:
            opening = Range(follows.start + shift, follows.end + shift)
            raise source.error(opening, "this parenthesis is not closed", "Close it with `)`.")
        pattern = read(original, follows.end + shift, tokens[close].start + shift)
        begin = _input_begins(tokens, at)
        if begin is None:
            remedy = "Write a table or a query in parentheses before it: FROM trades MATCH_RECOGNIZE (…) AS m."
            raise source.error(shown, "MATCH_RECOGNIZE must follow a table", remedy)
        start = tokens[begin].start
        return FoundClause(
            Range(start, tokens[close].end), text[start : token.start].strip(), _with_sql(text, tokens, begin), pattern
        )
    return None


def tokenize(text: str) -> list[Token]:
    """The tokens of a query, without blanks and comments."""
    tokens = []
    for found in _TOKEN.finditer(text):
        if found.lastgroup == "skip":
            continue
        is_name = found.lastgroup == "name"
        tokens.append(Token(found[0].upper() if is_name else found[0], found.start(), found.end(), is_name))
    return tokens


def _closing(tokens: list[Token], opening: int) -> int | None:
    depth = 0
    for at in range(opening, len(tokens)):
        depth += (tokens[at].text == "(") - (tokens[at].text == ")")
        if depth == 0:
            return at
    return None


def _opening(tokens: list[Token], closing: int) -> int | None:
    depth = 0
    for at in range(closing, -1, -1):
        depth += (tokens[at].text == ")") - (tokens[at].text == "(")
        if depth == 0:
            return at
    return None


def _input_begins(tokens: list[Token], keyword: int) -> int | None:
    """The first token of the table before the clause: a name, a query in parentheses or a table function, and an
    alias of it, with or without names of columns."""
    at = keyword - 1
    begin = _relation_begins(tokens, at)
    if begin is None or begin == 0:
        return None
    before = tokens[begin - 1]
    if before.text == "AS":
        return _relation_begins(tokens, begin - 2)
    is_table = before.text == ")" or (before.is_name and before.text not in _NO_ALIAS)
    if is_table and before.text not in _BEFORE_A_TABLE and tokens[at].text != ")":
        return _relation_begins(tokens, begin - 1)  # an alias without AS
    return begin if before.text in _BEFORE_A_TABLE else None


def _relation_begins(tokens: list[Token], last: int) -> int | None:
    """Where a name with its qualifiers begins, or a pair of parentheses with the function's name before it."""
    if last < 0:
        return None
    at = last
    if tokens[at].text == ")":
        opening = _opening(tokens, at)
        if opening is None:
            return None
        named = opening > 0 and tokens[opening - 1].is_name and tokens[opening - 1].text not in _WORDS_BEFORE_A_QUERY
        if not named:
            return opening
        at = opening - 1
    if not tokens[at].is_name:
        return None
    while at >= 2 and tokens[at - 1].text == "." and tokens[at - 2].is_name:
        at -= 2
    return at


_WORDS_BEFORE_A_QUERY = frozenset({"FROM", "JOIN", "LATERAL", "AS", "IN", "EXISTS", "ON", "WHERE", "AND", "OR", "NOT"})


def _with_sql(text: str, tokens: list[Token], position: int) -> str:
    """The common table expressions that a table at the position may name: of every WITH list around it, those that
    come before it; a name that is defined anew hides the older one."""
    definitions: dict[str, str] = {}
    for at, token in enumerate(tokens[:position]):
        if token.text != "WITH" or not token.is_name or not _is_around(tokens, at, position):
            continue
        each = at + 1
        if each < len(tokens) and tokens[each].text == "RECURSIVE":
            each += 1
        while each < position:
            begin = each
            while each < len(tokens) and tokens[each].text != "AS":
                each += 1
            opening = each + 1
            if opening >= len(tokens) or tokens[opening].text != "(":
                break
            close = _closing(tokens, opening)
            if close is None or close >= position:
                break
            name = tokens[begin].text.strip("`").casefold()
            definitions.pop(name, None)
            definitions[name] = text[tokens[begin].start : tokens[close].end]
            if close + 1 >= len(tokens) or tokens[close + 1].text != ",":
                break
            each = close + 2
    return f"WITH {', '.join(definitions.values())} " if definitions else ""


def _is_around(tokens: list[Token], start: int, position: int) -> bool:
    """Whether no parenthesis that is open at `start` is closed before the position."""
    depth = 0
    for token in tokens[start:position]:
        depth += (token.text == "(") - (token.text == ")")
        if depth < 0:
            return False
    return True
