"""The grammar: sqlglot's Spark dialect with what a condition needs changed.

Comes in: a condition's text. Goes out: sqlglot's syntax tree, every operand with its range in the text.
Called by `parser` alone, which turns that tree into our own expressions.

Changes against the stock dialect:
- Functions stay as they are written. The stock dialect rewrites them; it drops the offset of `LAST(x, k)` silently.
- CAST and TRY_CAST stay apart.
- A statement is one expression: DDL, DML and aliases are no part of the grammar.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import Token, exp
from sqlglot.dialects.spark import Spark

from cepheid.conditions.words import with_words_as_names

_START, _END = "cepheid_start", "cepheid_end"

# These have a syntax of their own inside the parentheses (AS, FROM, FOR) that a plain list of arguments is not.
_FUNCTIONS_WITH_SYNTAX = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "OVERLAY", "SUBSTRING", "SUBSTR")


class ConditionDialect(Spark):
    """Spark SQL, reduced to one expression and without rewriting."""

    class Tokenizer(Spark.Tokenizer):
        # Of these words the stock dialect takes all that follows as one token; here they may be names.
        COMMANDS: ClassVar[set] = set()  # type: ignore[type-arg]

    class Parser(Spark.Parser):  # type: ignore[valid-type, misc]  # sqlglot declares it as a variable
        STRICT_CAST = True
        FUNCTIONS: ClassVar[dict] = {}  # type: ignore[type-arg]
        FUNCTION_PARSERS: ClassVar[dict] = {  # type: ignore[type-arg]
            name: Spark.Parser.FUNCTION_PARSERS[name] for name in _FUNCTIONS_WITH_SYNTAX
        }

        def _parse_statement(self) -> exp.Expr | None:
            expression: exp.Expr | None = self._parse_disjunction()
            return expression

        def _parse_unary(self) -> exp.Expr | None:
            first = self._index
            return self._with_range(super()._parse_unary(), first)

        def _parse_range(self, this: exp.Expr | None = None, parse_is: bool = False) -> exp.Expr | None:
            first = self._index
            parsed = super()._parse_range(this, parse_is)
            if parsed is not None and this is not None and parsed is not this and _START in this.meta:
                return self._with_range(parsed, first, this.meta[_START])
            return self._with_range(parsed, first)

        def _with_range(self, node: exp.Expr | None, first: int, start: int | None = None) -> exp.Expr | None:
            """Notes on a node which characters it was read from; binary operators are computed from their operands."""
            if node is not None and self._index > first:
                node.meta[_START] = self._tokens[first].start if start is None else start
                node.meta[_END] = self._tokens[self._index - 1].end + 1
            return node


def tokenize(text: str) -> list[Token]:
    """The tokens of a text; sqlglot's `TokenError` where it has none."""
    return ConditionDialect().tokenize(text)


def parse_tokens(tokens: list[Token], text: str) -> exp.Expr | None:
    """The syntax tree of one expression; sqlglot's `ParseError` where there is none."""
    return ConditionDialect().parser().parse(with_words_as_names(tokens), text)[0]


def text_range(node: exp.Expr) -> tuple[int, int]:
    """The characters (end exclusive) that a node was read from; (0, 0) where nothing is known."""
    meta = node.meta
    if _START in meta:
        return meta[_START], meta[_END]
    ranges = [text_range(child) for child in node.iter_expressions()]
    if "start" in meta:
        ranges.append((meta["start"], meta["end"] + 1))
    known = [part for part in ranges if part != (0, 0)]
    return (min(start for start, _ in known), max(end for _, end in known)) if known else (0, 0)
