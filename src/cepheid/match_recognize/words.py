"""Names as a clause writes them.

In: a word, quoted or not. Out: the name that it stands for.
"""

from __future__ import annotations


def unquoted(word: str) -> str:
    """The name that a word stands for."""
    quote = word[:1]
    return word[1:-1].replace(quote * 2, quote) if quote in ('"', "`") else word


def folded(word: str) -> str:
    """A variable's name: upper case unless it is quoted (rule 1.3)."""
    return unquoted(word) if word[:1] in ('"', "`") else word.upper()
