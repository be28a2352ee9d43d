"""Names → columns, aggregates and folds; types for every node; errors where a name or a type does not fit.

Comes in: a parsed expression and its scope. Goes out: the bound expression, with implicit casts written
in, so that evaluators need no coercion rules of their own. Called by `binding` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from cepheid.conditions import promotion, types
from cepheid.conditions.carets import Span, condition_error, did_you_mean
from cepheid.conditions.casting import cast
from cepheid.conditions.expression import (
    ARITHMETIC,
    COMPARISONS,
    Aggregate,
    AggregateFunction,
    Call,
    Cast,
    Column,
    Expression,
    Field,
    FoldValue,
    Lambda,
    LambdaArgument,
    Literal,
    Name,
    Operation,
    Operator,
    Parameter,
    SparkExpression,
)
from cepheid.conditions.functions.definition import Arguments
from cepheid.conditions.functions.table import function_of
from cepheid.conditions.moving import has_null, moved_inside
from cepheid.conditions.printing import quoted
from cepheid.conditions.scope import Scope
from cepheid.conditions.types import DataType, Kind
from cepheid.errors import ConditionError, EvaluationError, InputError

_TO_BOOLEAN = frozenset({Operator.AND, Operator.OR, Operator.NOT, Operator.IS_TRUE, Operator.IS_FALSE})


class Checker:
    """Binds the expressions of one place in a pattern."""

    def __init__(self, scope: Scope, arguments: Mapping[str, DataType] | None = None) -> None:
        """`arguments`: the types of the arguments of the functions around, by their names in lower case."""
        self._scope = scope
        self._arguments = arguments or {}

    def condition(self, expression: Expression) -> Expression:
        """The bound expression, which must be true or false."""
        bound = self.bind(expression)
        if bound.type.kind not in (Kind.BOOLEAN, Kind.NULL, Kind.UNKNOWN):
            remedy = "compare it with something, such as `… > 0` or `… IS NOT NULL`"
            raise self._error(bound.span, f"this is a value of type {bound.type}, not a condition", remedy)
        return bound

    def bind(self, expression: Expression) -> Expression:
        match expression:
            case Literal():
                return self._literal(expression)
            case Name():
                return self._name(expression)
            case Operation():
                operands = tuple(map(self.bind, expression.operands))
                return self._operation(expression.operator, operands, expression.span)
            case Call():
                return self._call(expression, self._operands(expression.operands))
            case LambdaArgument(name=name):
                return replace(expression, type=self._arguments[name.casefold()])
            case Field(operand=operand, name=field):
                return self._field_of(self.bind(operand), field, expression.span)
            case Aggregate():
                return self._aggregate(expression)
            case Cast():
                return self._cast(self.bind(expression.operand), expression.type, False, expression.span)
            case SparkExpression():
                return self._spark(expression)
            case Parameter(name=name) if self._scope.schema is not None:  # before that, it may still be given one
                remedy = f"give it one: pattern.bind({name}=…)"
                raise self._error(expression.span, f"the parameter `:{name}` has no value", remedy)
        return expression

    def coerce(self, expression: Expression, target: DataType) -> Expression:
        """The expression as one of the target type, by an implicit cast where the value itself would change."""
        source = expression.type
        same = source == target or Kind.UNKNOWN in (source.kind, target.kind) or Kind.NULL in (source.kind, target.kind)
        if same or (source.is_integral and target.is_integral) or (source.is_fractional and target.is_fractional):
            return expression
        if source.kind is target.kind is Kind.INTERVAL:
            return expression
        if source.kind is target.kind is Kind.DECIMAL and source.scale <= target.scale:
            return expression
        return self._cast(expression, target, True, expression.span)

    def _literal(self, literal: Literal) -> Expression:
        """A timestamp that was written without a zone is one of the schema's zone."""
        value = literal.value
        is_local = literal.type.kind is Kind.TIMESTAMP and isinstance(value, datetime) and value.tzinfo is None
        if not is_local or self._zone == "UTC":
            return literal
        return replace(literal, value=cast(value, types.TIMESTAMP, self._zone))

    @property
    def _zone(self) -> str:
        return self._scope.schema.zone if self._scope.schema is not None else "UTC"

    # ── names ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _name(self, name: Name) -> Expression:
        head, *rest = name.parts
        variable = self._scope.variable(head)
        if rest and variable is not None:
            return self._read_of_variable(name, variable)
        if not rest:
            fold = self._scope.fold(head)
            if fold is not None:
                return FoldValue(fold.variable, fold.name, type=fold.type, span=name.span)
        return self._column(name)

    def _read_of_variable(self, name: Name, variable: str) -> Expression:
        """`v.column` outside an aggregate is the last that v has taken, as in MATCH_RECOGNIZE."""
        self._check_readable(variable, name.span)
        _, column, *fields = name.parts
        dotted = ".".join((column, *fields))
        if variable == self._scope.own:
            raise self._error(
                name.span,
                f"`{variable}` is this element itself: `{variable}.{dotted}` could mean two things",
                f"write `{dotted}` for the current event, or `LAST({variable}.{dotted})` for the one it took before",
            )
        argument = Name(name.parts[1:], span=name.span)
        return self._aggregate(Aggregate(AggregateFunction.LAST, variable, argument, span=name.span))

    def _column(self, name: Name) -> Expression:
        head, *fields = name.parts
        schema = self._scope.schema
        if not self._scope.has_event:
            variable = self._scope.visible[-1] if self._scope.visible else "v"
            problem = f"`{'.'.join(name.parts)}` names no variable, and there is no current event here"
            remedy = f"name a variable: LAST({variable}.{name.parts[-1]}), SUM({variable}.{name.parts[-1]}), …"
            raise self._error(name.span, problem, remedy)
        if schema is None:
            column: Expression = Column(head, span=name.span)
        else:
            try:
                found = schema.find(head)
            except InputError as error:
                problem, _, remedy = str(error).partition("\n")
                raise self._error(name.span, problem, remedy.strip()) from None
            if found is None and fields:  # a column whose own name has dots
                found, fields = schema.find(".".join(name.parts)), []
            if found is None:
                raise self._unknown_name(name)
            column = Column(found[0], type=found[1], span=name.span)
        for index, field in enumerate(fields):
            if column.type.is_known and not column.type.fields:
                return self._inside(name, column, fields[index:])
            column = self._field_of(column, field, name.span)
        return column

    def _operands(self, operands: tuple[Expression, ...]) -> tuple[Expression, ...]:
        bound: list[Expression] = []
        for operand in operands:
            if isinstance(operand, Lambda):
                bound.append(self._function_of(bound[0].type, operand))
            else:
                bound.append(self.bind(operand))
        return tuple(bound)

    def _function_of(self, array: DataType, function: Lambda) -> Expression:
        """A function of an array's items and of their places, bound."""
        given = (array.item or types.UNKNOWN, types.INT)
        names = tuple(name.casefold() for name in function.arguments)
        inner = Checker(self._scope, {**self._arguments, **dict(zip(names, given, strict=False))})
        body = inner.bind(function.body)
        return replace(function, body=body, type=body.type)

    def _field_of(self, struct: Expression, field: str, span: Span | None) -> Expression:
        if not struct.type.is_known:
            return Field(struct, field, span=span)
        found = next((one for one in struct.type.fields if one[0].casefold() == field.casefold()), None)
        if found is not None:
            return Field(struct, found[0], type=found[1], span=span)
        if struct.type.kind is Kind.OTHER and not struct.type.fields:  # of a map: what it is, values decide
            return Field(struct, field, span=span)
        names = [known for known, _ in struct.type.fields]
        listed = "its fields are " + ", ".join(f"`{known}`" for known in names) if names else f"it is a {struct.type}"
        raise self._error(span, f"`{struct}` has no field `{field}`", did_you_mean(field, names) or listed)

    def _inside(self, name: Name, column: Expression, fields: list[str]) -> Expression:
        """What is inside a map or an array of structs, which Spark alone reads."""
        if column.type.kind is not Kind.OTHER:
            problem = f"`{column}` is a {column.type} and has no field `{fields[0]}`"
            raise self._error(name.span, problem, f"`{name.parts[0]}` is not a variable of the pattern either")
        path = "".join(f".{quoted(part)}" for part in fields)
        return self._typed(SparkExpression("what is inside a map or an array", (column, path), span=name.span))

    def _unknown_name(self, name: Name) -> ConditionError:
        head, *fields = name.parts
        schema = self._scope.schema
        assert schema is not None
        if fields:
            near = did_you_mean(head, (*self._scope.all_variables, *schema.names))
            known = ", ".join(f"`{variable}`" for variable in self._scope.all_variables)
            problem = f"`{head}` is neither a variable of the pattern nor a column"
            return self._error(name.span, problem, near or f"the variables are {known}")
        if self._scope.variable(head) is not None:
            remedy = f"name a column of it, such as LAST({head}.{schema.names[0] if schema.names else 'column'})"
            return self._error(name.span, f"`{head}` is a variable, not a column", remedy)
        if self._scope.is_later_fold(head):
            remedy = "a fold is read by its own element and by later ones"
            return self._error(name.span, f"`{head}` is a fold of a later element", remedy)
        near_fold = did_you_mean(head, (*schema.names, *self._scope.fold_names))
        suggestion = f"{schema.suggestion(head)}; put text in quotes: '{head}'"
        return self._error(name.span, f"there is no column `{head}`", near_fold or suggestion)

    def _check_readable(self, variable: str, span: Span | None) -> None:
        if variable in self._scope.nots:
            remedy = "a negation takes no events; only elements that take events can be read"
            raise self._error(span, f"`{variable}` is a negation", remedy)
        if variable in self._scope.apart:
            remedy = "a match takes one alternative of a one_of; put what both need before it, or loop over the one_of"
            raise self._error(
                span, f"`{variable}` is in another alternative and never taken together with this", remedy
            )
        if variable not in self._scope.visible:
            readable = ", ".join(f"`{name}`" for name in self._scope.visible) or "none"
            remedy = f"a condition can read its own element and earlier ones (here: {readable})"
            raise self._error(span, f"`{variable}` is a later element and has taken nothing yet", remedy)
        schema = self._scope.schema
        column = schema.find(variable) if schema is not None else None
        if column is not None and column[1].is_struct:
            remedy = "rename the variable or the column"
            raise self._error(span, f"`{variable}` is a variable and also a struct column", remedy)

    # ── aggregates and Spark's part ──────────────────────────────────────────────────────────────────────────────

    def _aggregate(self, node: Aggregate) -> Expression:
        variable = self._scope.variable(node.variable)
        if variable is None:
            near = did_you_mean(node.variable, self._scope.all_variables)
            known = ", ".join(f"`{name}`" for name in self._scope.all_variables)
            problem = f"`{node.variable}` is not a variable of the pattern"
            raise self._error(node.span, problem, near or f"the variables are {known}")
        self._check_readable(variable, node.span)
        if node.argument is None:
            return Aggregate(node.function, variable, None, type=types.LONG, span=node.span)
        inside = Checker(self._scope.of_event_alone(variable))
        argument = inside.bind(node.argument)
        found = promotion.aggregate(node.function, argument.type)
        if found is None:
            problem = f"{node.function.value} cannot be computed over values of type {argument.type}"
            remedy = "COUNT, FIRST and LAST take any type"
            if node.function is AggregateFunction.COUNT_DISTINCT:
                remedy = "count a field, or a string made from it, such as to_json"
            raise self._error(argument.span or node.span, problem, remedy)
        argument = inside.coerce(argument, found[0])
        return Aggregate(node.function, variable, argument, node.offset, type=found[1], span=node.span)

    def _spark(self, node: SparkExpression) -> Expression:
        parts: list[str | Expression] = []
        for part in node.parts:
            bound = part if isinstance(part, str) else self.bind(part)
            if isinstance(bound, Aggregate | FoldValue):
                problem = f"{node.function} is outside what can be computed over variables"
                raise self._error(bound.span, problem, self._inside_aggregate(node))
            if isinstance(bound, SparkExpression):
                parts.extend(bound.parts)
            else:
                parts.append(bound)
        return self._typed(replace(node, parts=tuple(parts)))

    def _inside_aggregate(self, node: SparkExpression) -> str:
        """How to write what Spark alone computes of a variable's columns."""
        names = [part for part in node.parts if isinstance(part, Name)]
        variables = {self._scope.variable(name.parts[0]) if len(name.parts) > 1 else None for name in names}
        if len(variables) == 1 and None not in variables and node.span is not None:
            return f"put it inside an aggregate: LAST({node.span.text[node.span.start : node.span.end]})"
        return "use it on columns of the current event, or inside the aggregate of one variable: LAST(f(v.column))"

    def _typed(self, node: SparkExpression) -> Expression:
        """The node with the type that Spark gives it, if Spark is there to say so."""
        ask = self._scope.schema.type_in_spark if self._scope.schema is not None else None
        if ask is None:
            return node
        try:
            return replace(node, type=ask(str(node)))
        except ValueError as error:
            raise self._error(node.span, str(error), "is it spelt as Spark spells it?") from None

    # ── types ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _cast(self, operand: Expression, target: DataType, implicit: bool, span: Span | None) -> Expression:
        if not promotion.can_cast(operand.type, target):
            raise self._error(span, f"a {operand.type} cannot be cast to {target}", "compute it as a column")
        reads_clock = (operand.type.kind is Kind.TIMESTAMP) != (target.kind is Kind.TIMESTAMP)
        zone = self._zone if reads_clock else "UTC"
        if isinstance(operand, Literal):
            try:
                cast(operand.value, target, zone)
            except EvaluationError as error:
                remedy = f"the other side is of type {target}" if implicit else "check the value and the type"
                raise self._error(span, str(error), remedy) from None
        bound = Cast(operand, implicit, zone, type=target, span=span)
        return bound if operand.type.is_numeric and target.is_numeric else moved_inside(bound)

    def _operation(self, operator: Operator, operands: tuple[Expression, ...], span: Span | None) -> Expression:
        if operator in _TO_BOOLEAN:
            for operand in operands:
                if operand.type.kind not in (Kind.BOOLEAN, Kind.NULL, Kind.UNKNOWN):
                    problem = f"{operator.value} needs conditions, this is of type {operand.type}"
                    raise self._error(operand.span or span, problem, "compare it with something")
            return Operation(operator, operands, type=types.BOOLEAN, span=span)
        if operator in COMPARISONS or operator is Operator.IN:
            alike, together = self._alike(operator.value, operands, span)
            compared = Operation(operator, alike, type=types.BOOLEAN, span=span)
            # The engine holds strings as codes, which a literal has none of.
            is_moved = together.kind is Kind.STRING and operator is not Operator.NULL_SAFE_EQUAL
            return moved_inside(compared) if is_moved and not has_null(alike) else compared
        if operator in ARITHMETIC:
            return self._arithmetic(operator, operands, span)
        if operator is Operator.IS_NULL:
            return Operation(operator, operands, type=types.BOOLEAN, span=span)
        if operator is Operator.COALESCE:
            alike, together = self._alike(operator.value, operands, span)
            return Operation(operator, alike, type=together, span=span)
        assert operator is Operator.CASE
        return self._case(operands, span)

    def _call(self, call: Call, operands: tuple[Expression, ...]) -> Expression:
        arguments = Arguments(call.name, operands, call.span, self.coerce, self._error, self._alike)
        function = function_of(call)
        coerced, result = function.types(arguments)
        bound = Call(call.name, coerced, type=result, span=call.span)
        is_moved = function.kernel is None and not function.skips_nulls
        return moved_inside(bound) if is_moved else bound

    def _type_of_all(self, called: str, operands: tuple[Expression, ...], span: Span | None) -> DataType:
        together = operands[0].type
        for operand in operands[1:]:
            wider = promotion.common(together, operand.type)
            extreme = called in ("GREATEST", "LEAST")
            promotes_string = extreme and (together.kind is Kind.STRING) != (operand.type.kind is Kind.STRING)
            if wider is None or (
                promotes_string and wider.is_known and Kind.NULL not in (together.kind, operand.type.kind)
            ):
                raise self._mismatch(called, together, operand.type, span)
            together = wider
        return together

    def _alike(
        self, called: str, operands: tuple[Expression, ...], span: Span | None
    ) -> tuple[tuple[Expression, ...], DataType]:
        """The operands, brought to one type, and that type."""
        together = self._type_of_all(called, operands, span)
        if together.kind is Kind.OTHER and called != Operator.COALESCE.value:
            problem = f"values of type {together} cannot be compared here"
            raise self._error(span, problem, "compare a field, or compute the comparison as a column")
        return tuple(self.coerce(operand, together) for operand in operands), together

    def _arithmetic(self, operator: Operator, operands: tuple[Expression, ...], span: Span | None) -> Expression:
        left, right = operands
        found = promotion.arithmetic(operator, left, right)
        if found is None:
            raise self._mismatch(operator.value, left.type, right.type, span)
        first, second, result = found
        coerced = (self.coerce(left, first), self.coerce(right, second))
        return Operation(operator, coerced, type=result, span=span)

    def _mismatch(self, called: str, left: DataType, right: DataType, span: Span | None) -> ConditionError:
        problem = f"`{called}` does not work between {left} and {right}"
        return self._error(span, problem, "bring both sides to one type, for example with CAST(… AS …)")

    def _case(self, operands: tuple[Expression, ...], span: Span | None) -> Expression:
        conditions, values = operands[:-1:2], (*operands[1:-1:2], operands[-1])
        for condition in conditions:
            if condition.type.kind not in (Kind.BOOLEAN, Kind.NULL, Kind.UNKNOWN):
                problem = f"WHEN needs a condition, this is of type {condition.type}"
                raise self._error(condition.span or span, problem, "compare it with something")
        together = self._type_of_all(Operator.CASE.value, values, span)
        values = tuple(self.coerce(value, together) for value in values)
        bound: list[Expression] = []
        for condition, value in zip(conditions, values, strict=False):
            bound += [condition, value]
        return Operation(Operator.CASE, (*bound, values[-1]), type=together, span=span)

    def _error(self, span: Span | None, problem: str, remedy: str) -> ConditionError:
        return condition_error(span, problem, remedy, self._scope.place)
