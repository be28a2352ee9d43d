"""Names in SASE text and in SQL: in backquotes where they are not plain words.

In: names, or words as written. Out: the other of the two.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sqlglot import TokenError, TokenType

from cepheid.conditions.dialect import tokenize

KEYWORDS = ("EVENT", "PATTERN", "SEQ", "ANY", "TYPED", "WHERE", "STRATEGY", "WITHIN")
"""Words that begin a clause or a construct, so that a name must be quoted to be one of them."""

_PLAIN = re.compile(r"[^\W\d]\w*")


def unquoted(word: str) -> str:
    """The name that a word of the text stands for."""
    return word[1:-1].replace("``", "`") if word.startswith("`") else word


@lru_cache(maxsize=4096)
def column(name: str) -> str:
    """A column's name as SQL, in backquotes where the SQL grammar would read something else."""
    if _PLAIN.fullmatch(name) and name.isascii():
        try:
            tokens = tokenize(name)
        except TokenError:
            tokens = []
        if len(tokens) == 1 and tokens[0].token_type is TokenType.VAR:
            return name
    return backquoted(name)


def is_plain(name: str) -> bool:
    """Whether SASE text can have the name as it is."""
    return _PLAIN.fullmatch(name) is not None and name.upper() not in KEYWORDS


def word(name: str) -> str:
    """A name as a word of SASE text."""
    return name if is_plain(name) else backquoted(name)


def backquoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
