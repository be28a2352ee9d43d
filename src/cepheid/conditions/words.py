"""SQL's own words in a condition: where they are names of columns, and where they begin what no condition may hold.

In: the tokens of a text. Out: the same tokens, in which words are names where only a name can be; or the token
at which a query or a statement begins. Called by `dialect` and `parser`.
"""

from __future__ import annotations

from sqlglot import Token, TokenType

_STATEMENT_WORDS = """
    ALTER ANALYZE CACHE CALL CREATE DELETE DESCRIBE DROP EXPLAIN GRANT INSERT MERGE REFRESH REPLACE SET SHOW TRUNCATE
    UNCACHE UPDATE USE FROM VALUES
"""
_STATEMENTS = frozenset(_STATEMENT_WORDS.split())
_QUERIES = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "FROM", "SHOW", "DESCRIBE", "MAP", "REDUCE"})
_INFIX = frozenset({"AND", "OR", "NOT", "IS", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "DIV"})
_PREFIX = _INFIX | {"CASE", "WHEN", "THEN", "ELSE", "ESCAPE"}
_VALUES = frozenset({"TRUE", "FALSE", "NULL", "CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_TIME", "CURRENT_USER"})
_SIGNS = frozenset({"=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>", "*", "/", "%", "||"})
_OPENING = frozenset({"(", ",", "+", "-", "->", "[", "!", "~", "&", "|", "^"})
_ENDING = frozenset({")", ",", ".", "]"})


def with_words_as_names(tokens: list[Token]) -> list[Token]:
    """The tokens. Where a value must begin, a word of the grammar that is followed by what only follows a value is a
    name: `values = 1`, `else IS NULL`."""
    result = []
    for index, token in enumerate(tokens):
        previous = tokens[index - 1] if index else None
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        behind_dot = previous is not None and previous.text == "."
        is_name = _is_word(token) and (behind_dot or (_begins_value(previous) and _follows_value(following)))
        result.append(_as_name(token) if is_name and token.text.upper() not in _VALUES else token)
    return result


def first_of_query(tokens: list[Token]) -> Token | None:
    """Where a query begins: at the start of the text or of a parenthesis, a word for one with something to query."""
    for index, token in enumerate(tokens):
        is_first = index == 0 or tokens[index - 1].text == "("
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        if not is_first or not _is_word(token) or token.text.upper() not in _QUERIES or following is None:
            continue
        if following.text == "*" or (following.text == "(" and token.text.upper() != "MAP"):
            return token
        is_value = following.token_type in (TokenType.NUMBER, TokenType.STRING, TokenType.IDENTIFIER)
        names_something = is_value or (_is_word(following) and following.text.upper() not in _INFIX)
        if names_something and (index or token.text.upper() not in _STATEMENTS):
            return token
    return None


def begins_statement(tokens: list[Token]) -> bool:
    """Whether two words in a row begin a statement; each of them alone may be a column."""
    names_follow = len(tokens) > 1 and tokens[1].text[:1].isalpha() and tokens[1].text.upper() not in _INFIX
    return _is_word(tokens[0]) and tokens[0].text.upper() in _STATEMENTS and names_follow


def _is_word(token: Token) -> bool:
    quoted = token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
    return not quoted and token.text[:1].isalpha()


def _begins_value(previous: Token | None) -> bool:
    """Whether a value must begin after this token."""
    if previous is None or previous.text in _SIGNS or previous.text in _OPENING:
        return previous is None or previous.token_type is not TokenType.STRING
    return _is_word(previous) and previous.text.upper() in _PREFIX


def _follows_value(following: Token | None) -> bool:
    """Whether this token can come after a value, and after nothing else."""
    if following is None or following.token_type is TokenType.STRING:
        return following is None
    if following.text in _SIGNS or following.text in _ENDING:
        return True
    return _is_word(following) and following.text.upper() in _INFIX - {"NOT"}


def _as_name(token: Token) -> Token:
    return Token(TokenType.IDENTIFIER, token.text, token.line, token.col, token.start, token.end, token.comments)
