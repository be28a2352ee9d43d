"""What is outside the portable subset: its text, verbatim, for Spark.

Comes in: a syntax node and the text it was read from. Goes out: a `SparkExpression`, or a `ConditionError` where not
even Spark may compute it. Called by `reader` alone.
"""

from __future__ import annotations

from sqlglot import exp

from cepheid.conditions.carets import Span, condition_error
from cepheid.conditions.dialect import text_range
from cepheid.conditions.expression import Expression, Name, Parameter, SparkExpression
from cepheid.conditions.vocabulary import AGGREGATES, is_unit, refusal

# Everything else is an operator: it gets parentheses, so that it stays together wherever the text is put.
STAYS_TOGETHER = (exp.Func, exp.Bracket, exp.Dot, exp.Cast, exp.RawString, exp.HexString)


def spark_expression(text: str, node: exp.Expr) -> SparkExpression:
    """The node's text with the names that it reads."""
    _refuse(text, node)
    span = Span(text, *text_range(node))
    if span.start == span.end:
        raise condition_error(None, f"{called(node)} is not allowed in a condition", "leave it out")
    pieces = _pieces(text, node)
    together = isinstance(node, STAYS_TOGETHER)
    return SparkExpression(called(node), pieces if together else ("(", *pieces, ")"), span=span)


def _refuse(text: str, node: exp.Expr) -> None:
    """Raises for what has no meaning here, wherever in the node it is."""
    for part in node.walk():
        refused = refusal(part)
        name = part.name.upper() if isinstance(part, exp.Anonymous) else ""
        if refused is None and name in AGGREGATES:
            refused = (
                f"{called(node)} is not computed over what variables have taken",
                f"put it inside, {name}(… v.column …), so that Spark computes it for each event; or use a callable",
            )
        if refused is not None:
            raise condition_error(Span(text, *text_range(part)), *refused)


def called(node: exp.Expr) -> str:
    """How an error calls the node."""
    if isinstance(node, exp.Dot | exp.Bracket):
        return "a field or an item"
    return f"`{(node.name if isinstance(node, exp.Anonymous) else node.key).lower()}`"


def _pieces(text: str, node: exp.Expr) -> tuple[str | Expression, ...]:
    """The text, cut where names of columns and parameters occur; the arguments of lambdas are no columns."""
    parameters = {
        parameter.name.lower() for function in node.find_all(exp.Lambda) for parameter in function.expressions
    }
    columns = [
        column
        for column in node.find_all(exp.Column)
        if column.parts[0].name.lower() not in parameters and not is_unit(column)
    ]
    pieces: list[str | Expression] = []
    position, end = text_range(node)
    for read in sorted((*columns, *node.find_all(exp.Placeholder)), key=text_range):
        start, after = text_range(read)
        span = Span(text, start, after)
        if isinstance(read, exp.Column):
            pieces += [text[position:start], Name(tuple(part.name for part in read.parts), span=span)]
        else:
            pieces += [text[position:start], Parameter(read.name, span=span)]
        position = after
    pieces.append(text[position:end])
    return tuple(piece for piece in pieces if piece != "")
