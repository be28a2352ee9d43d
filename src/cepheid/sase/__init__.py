"""SASE text, a front end: `EVENT SEQ(SHELF x, !(COUNTER y), EXIT z) WHERE [tag] WITHIN 12 hours`.

The chain: `parsing` finds the clauses with a grammar and gives a `Query`; `attaching` gives each condition of WHERE to
a component; `reading` makes the pattern tree that every front end makes; `writing` goes the way back. What a condition
is, the SQL parser of the room `conditions` decides. The names below are what the face uses.
"""

from cepheid.sase.parsing import is_sase
from cepheid.sase.reading import read
from cepheid.sase.writing import write

__all__ = ["is_sase", "read", "write"]
