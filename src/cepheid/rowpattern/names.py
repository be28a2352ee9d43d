"""Names and calls in expressions of MEASURES and DEFINE → reads, types checked.

In: an expression as parsed. Out: one whose leaves are reads (`rowpattern.expression`), with implicit casts written in;
or a `ConditionError`. Called by `binding`.
"""

from __future__ import annotations

from dataclasses import dataclass

from cepheid.conditions import promotion, types
from cepheid.conditions.carets import Span, condition_error, did_you_mean
from cepheid.conditions.checking import Checker
from cepheid.conditions.expression import (
    AggregateFunction,
    Expression,
    Literal,
    Name,
    Operation,
    Operator,
    walk,
)
from cepheid.conditions.scope import Scope
from cepheid.conditions.types import Kind, Schema
from cepheid.rowpattern.expression import (
    Folded,
    Function,
    Mode,
    Place,
    RowCall,
    Value,
    label_column,
    number_column,
)
from cepheid.rowpattern.model import RowPattern

_LOGICAL, _PHYSICAL = ("FIRST", "LAST"), ("PREV", "NEXT")
_FUNCTIONS = {
    **{function.value: function for function in Function},
    "MEAN": Function.AVG,
    "STDDEV_SAMP": Function.STDDEV,
    "COLLECT_LIST": Function.ARRAY_AGG,
    "COLLECT_SET": Function.ARRAY_AGG,
    "COUNT_IF": Function.COUNT,
    "BOOL_AND": Function.MIN,
    "EVERY": Function.MIN,
    "BOOL_OR": Function.MAX,
}
_OF_TRUTH = ("BOOL_AND", "EVERY", "BOOL_OR")


class Names:
    """The variables of a row pattern and the columns of its rows."""

    def __init__(self, pattern: RowPattern, schema: Schema | None) -> None:
        self.variables = (*pattern.variables, *(subset.name for subset in pattern.subsets))
        self.schema = schema
        self.row_scope = Scope("condition", schema, (), (), frozenset())
        """An expression over one row sees its columns alone."""

    def variable(self, name: str) -> str | None:
        """The variable as the pattern spells it."""
        return next((each for each in self.variables if each.casefold() == name.casefold()), None)

    def required(self, name: str, span: Span | None) -> str:
        """The variable, or an error with what may be meant."""
        found = self.variable(name)
        if found is None:
            near = did_you_mean(name, self.variables)
            remedy = near or f"the variables are {', '.join(self.variables)}"
            raise condition_error(span, f"`{name}` is not a variable of the pattern", remedy)
        return found


@dataclass(frozen=True, slots=True)
class _Argument:
    """An expression over one row, and the variable whose rows it is read on (None: all)."""

    expression: Expression
    variable: str | None


class ExpressionBinder(Checker):
    """Binds the expressions of MEASURES, or those of DEFINE."""

    def __init__(self, names: Names, in_define: bool) -> None:
        super().__init__(names.row_scope)
        self._names = names
        self._in_define = in_define

    def bind(self, expression: Expression) -> Expression:
        match expression:
            case Name():
                # rule 5.2: A.x is LAST(A.x), x is LAST(x)
                argument = self._argument(expression, expression.span)
                return self._value(Place(argument.variable), argument, expression.span)
            case RowCall(function=function) if function in _LOGICAL:
                return self._logical(expression, 0, expression)
            case RowCall(function=function) if function in _PHYSICAL:
                return self._physical(expression)
            case RowCall(function="CLASSIFIER"):
                argument = self._argument(expression, expression.span)
                return self._value(Place(argument.variable), argument, expression.span)
            case RowCall(function="MATCH_NUMBER"):
                return _match_number(expression)
            case RowCall():
                return self._folded(expression)
        return super().bind(expression)

    # ── navigation ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _logical(self, call: RowCall, shift: int, whole: RowCall) -> Expression:
        """FIRST and LAST, inside PREV and NEXT or not (rules 5.3 and 5.5)."""
        inner, offset = self._with_offset(call, 0)
        argument = self._navigated(call, inner)
        place = Place(argument.variable, call.function == "FIRST", offset, shift, self._is_final(call))
        return self._value(place, argument, whole.span)

    def _physical(self, call: RowCall) -> Expression:
        inner, offset = self._with_offset(call, 1)
        shift = offset if call.function == "NEXT" else -offset
        if isinstance(inner, RowCall) and inner.function in _LOGICAL:
            return self._logical(inner, shift, call)
        argument = self._navigated(call, inner)
        return self._value(Place(argument.variable, shift=shift), argument, call.span)

    def _with_offset(self, call: RowCall, default: int) -> tuple[Expression, int]:
        """The argument and the offset, an integer literal of 0 or more."""
        if len(call.arguments) not in (1, 2):
            problem = f"{call.function} was given {len(call.arguments)} arguments"
            raise condition_error(
                call.span, problem, f"write {call.function}(v.column) or {call.function}(v.column, 2)"
            )
        if len(call.arguments) == 1:
            return call.arguments[0], default
        offset = call.arguments[1]
        if not isinstance(offset, Literal) or type(offset.value) is not int or offset.value < 0:
            problem = f"the offset of {call.function} is a whole number, 0 or more, written out"
            raise condition_error(call.span, problem, f"such as {call.function}(v.column, 2)")
        return call.arguments[0], offset.value

    def _navigated(self, call: RowCall, inner: Expression) -> _Argument:
        for node in walk(inner):
            if isinstance(node, RowCall) and node.function not in ("CLASSIFIER", "MATCH_NUMBER"):
                remedy = "only FIRST and LAST may be inside PREV and NEXT, directly: PREV(LAST(v.column, 1), 2)"
                raise condition_error(node.span, f"{node.function} cannot be inside {call.function} here", remedy)
        argument = self._argument(inner, call.span)
        if not any(
            isinstance(node, Name) or (isinstance(node, RowCall) and node.function == "CLASSIFIER")
            for node in walk(inner)
        ):
            problem = f"{call.function} reads no column"
            raise condition_error(call.span, problem, f"name one: {call.function}(v.column)")
        return argument

    def _value(self, place: Place, argument: _Argument, span: Span | None) -> Expression:
        return Value(place, argument.expression, type=argument.expression.type, span=span)

    def _is_final(self, call: RowCall) -> bool:
        if self._in_define and call.mode is Mode.FINAL:
            problem = "FINAL has no meaning in DEFINE: the rest of the match is not known yet"
            raise condition_error(call.span, problem, "leave FINAL out; compare in MEASURES or in the query around")
        return call.mode is Mode.FINAL

    # ── aggregates ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _folded(self, call: RowCall) -> Expression:
        function, is_final = _FUNCTIONS[call.function], self._is_final(call)
        if call.rows_of is not None:
            variable = self._names.required(call.rows_of, call.span) if call.rows_of else None
            if call.filter is None:
                return Folded(function, variable, None, False, is_final, type=types.LONG, span=call.span)
            one: Expression = Literal(1, type=types.INT)
        elif len(call.arguments) != 1:
            problem = f"{call.function} was given {len(call.arguments)} arguments"
            raise condition_error(call.span, problem, f"write {call.function}(v.column)")
        else:
            variable, one = None, call.arguments[0]
        for node in (node for part in call.children for node in walk(part)):
            if isinstance(node, RowCall) and node.function not in ("CLASSIFIER", "MATCH_NUMBER"):
                problem = f"{node.function} cannot be inside {call.function}"
                raise condition_error(node.span, problem, "an aggregate reads the columns of each row alone")
        if call.function == "COUNT_IF":
            one = Operation(Operator.CASE, (one, Literal(1, type=types.INT), _NULL), span=one.span)
        if call.filter is not None:
            one = Operation(Operator.CASE, (call.filter, one, _NULL), span=call.span)
        argument = self._argument(one, call.span, variable)
        return self._of_values(call, function, argument, is_final)

    def _of_values(self, call: RowCall, function: Function, argument: _Argument, is_final: bool) -> Expression:
        inside, kind = argument.expression, argument.expression.type
        if call.function in _OF_TRUTH and kind.kind not in (Kind.BOOLEAN, Kind.NULL, Kind.UNKNOWN):
            problem = f"{call.function} needs conditions, this is of type {kind}"
            raise condition_error(inside.span or call.span, problem, "compare it with something")
        if function is Function.ARRAY_AGG:
            result = types.other(f"array<{kind}>")
        else:
            found = promotion.aggregate(AggregateFunction[function.name], kind)
            if found is None:
                problem = f"{call.function} cannot be computed over values of type {kind}"
                raise condition_error(inside.span or call.span, problem, "COUNT and ARRAY_AGG take any type")
            inside, result = self.coerce(inside, found[0]), found[1]
        distinct = call.distinct or call.function == "COLLECT_SET"
        return Folded(function, argument.variable, inside, distinct, is_final, type=result, span=call.span)

    # ── arguments ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _argument(self, inner: Expression, span: Span | None, variable: str | None = None) -> _Argument:
        """An expression over one row; all its qualified columns name one variable (rule 5.3)."""
        row = _RowBinder(self._names, {variable: span} if variable is not None else {})
        bound = row.bind(inner)
        if len(row.read) > 1:
            shown = " and ".join("columns without a variable" if each is None else f"`{each}`" for each in row.read)
            place = list(row.read.values())[1]
            raise condition_error(place or span, f"this reads {shown} at once", "one call reads one variable")
        return _Argument(bound, next(iter(row.read), None))


class _RowBinder(Checker):
    """Binds what is read on one row, and notes of which variables."""

    def __init__(self, names: Names, read: dict[str | None, Span | None]) -> None:
        super().__init__(names.row_scope)
        self._names = names
        self.read: dict[str | None, Span | None] = dict(read)

    def bind(self, expression: Expression) -> Expression:
        match expression:
            case Name(parts=parts):
                variable = self._names.variable(parts[0]) if len(parts) > 1 else None
                if len(parts) > 1 and variable is None:
                    self._refuse_unknown(expression)
                self.read.setdefault(variable, expression.span)
                return super().bind(expression if variable is None else Name(parts[1:], span=expression.span))
            case RowCall(function="CLASSIFIER", arguments=arguments):
                self.read.setdefault(self._classified(expression, arguments), expression.span)
                return label_column()
            case RowCall(function="MATCH_NUMBER"):
                return _match_number(expression)
        return super().bind(expression)

    def _refuse_unknown(self, name: Name) -> None:
        """`x.y` is a field of the column x; a prefix by the table's name is not allowed (rule 5.2)."""
        schema, head = self._names.schema, name.parts[0]
        if schema is not None and schema.find(head) is None:
            near = did_you_mean(head, (*self._names.variables, *schema.names))
            remedy = (
                near or f"the variables are {', '.join(self._names.variables)}; write columns without the table's name"
            )
            raise condition_error(name.span, f"`{head}` is neither a variable of the pattern nor a column", remedy)

    def _classified(self, call: Expression, arguments: tuple[Expression, ...]) -> str | None:
        if not arguments:
            return None
        if len(arguments) != 1 or not isinstance(arguments[0], Name) or len(arguments[0].parts) != 1:
            raise condition_error(
                call.span, "CLASSIFIER takes the name of a variable or nothing", "write CLASSIFIER(A)"
            )
        return self._names.required(arguments[0].parts[0], arguments[0].span)


_NULL = Literal(None, type=types.NULL)


def _match_number(call: RowCall) -> Expression:
    if call.arguments:
        raise condition_error(call.span, "MATCH_NUMBER takes no arguments", "write MATCH_NUMBER()")
    return number_column()
