"""MATCH_RECOGNIZE, a front end: the clause, and queries that hold clauses.

The chain: `grammar.lark` finds the parts of a clause, `reading` makes a row pattern of them, `expressions` hands what
stands in MEASURES and DEFINE to the SQL parser; `queries` finds clauses in a query. The names below are what the face
uses.
"""

from cepheid.match_recognize.reading import read

__all__ = ["read"]
