"""The printed notation, a front end: `print(pattern)` writes it (`syntax.notation`), `read` makes the pattern again.

The chain: a grammar finds elements, links and clauses; `conditions` reads what is in brackets; `reading` makes the
pattern tree that every front end makes; `complaints` says what the grammar could not read. The name below is what the
face uses.
"""

from cepheid.notation.reading import read

__all__ = ["read"]
