"""Names, scopes and types: what a condition can read, and how errors say what it cannot."""

from __future__ import annotations

import time

import pytest
from conditions.patterns import absent, condition, element, group, pattern

from cepheid.conditions import BoundConditions, Schema, bind, types
from cepheid.conditions.expression import TRUE, Aggregate, AggregateFunction, Column, FoldValue, walk
from cepheid.conditions.types import decimal, other
from cepheid.errors import ConditionError
from cepheid.syntax.tree import (
    AllOf,
    AnyOf,
    ColumnCondition,
    Element,
    Fold,
    Not,
    NotBefore,
    PythonCondition,
    SqlText,
)

SCHEMA = Schema.of(
    [
        ("name", types.STRING),
        ("Price", types.DOUBLE),
        ("qty", types.INT),
        ("cost", decimal(10, 2)),
        ("ts", types.TIMESTAMP),
        ("s", other("struct<f: int>")),
    ]
)


def bound(*elements: Element | Not, not_before: tuple[NotBefore, ...] = ()) -> BoundConditions:
    return bind(pattern(*elements, not_before=not_before), SCHEMA)


def refusal(*elements: Element | Not, schema: Schema | None = SCHEMA) -> ConditionError:
    with pytest.raises(ConditionError) as caught:
        bind(pattern(*elements), schema)
    return caught.value


def test_no_condition_is_true() -> None:
    predicate = bound(element("a")).where["a"]
    assert predicate.is_always_true
    assert (predicate.own_event, predicate.rest, predicate.reads_variables) == (TRUE, None, False)


def test_columns_are_spelled_as_in_the_schema_and_come_in_its_order() -> None:
    conditions = bound(element("a", "QTY > 1"), element("b", "price > AVG(a.PRICE) AND name = 'x'"))
    assert conditions.columns == ("name", "Price", "qty")
    assert str(conditions.where["b"]) == "Price > AVG(a.Price) AND name = 'x'"


def test_without_a_schema_names_stay_and_types_are_unknown() -> None:
    conditions = bind(pattern(element("a", "anything > 1 AND s.f = 2")), None)
    assert conditions.columns == ("anything", "s")
    column = next(node for node in walk(conditions.where["a"].expression) if isinstance(node, Column))
    assert not column.type.is_known


def test_a_column_of_an_earlier_variable_is_the_last_it_took() -> None:
    expression = bound(element("a"), element("b", "price > A.price")).where["b"].expression
    read = next(node for node in walk(expression) if isinstance(node, Aggregate))
    assert (read.function, read.variable, read.offset) == (AggregateFunction.LAST, "a", 0)
    assert read.type == types.DOUBLE


def test_the_own_event_part_is_one_expression_in_order_and_the_rest_another() -> None:
    text = "qty <> 0 AND LAST(a.qty) > 1 AND price / qty > 2 AND (name = 'x' OR COUNT(a.*) = 2)"
    predicate = bound(element("a"), element("b", text)).where["b"]
    assert str(predicate.own_event) == "qty <> 0 AND Price / qty > 2"
    assert str(predicate.rest) == "LAST(a.qty) > 1 AND (name = 'x' OR COUNT(a.*) = 2)"


def test_predicates_are_equal_if_they_mean_the_same_at_any_place() -> None:
    conditions = bound(element("a", "price>1"), element("b", "(PRICE > 1)"), element("c", "price > 1D"))
    assert conditions.where["a"] == conditions.where["b"]
    assert hash(conditions.where["a"]) == hash(conditions.where["b"])
    assert conditions.where["a"] != conditions.where["c"]


def test_where_after_where_and_or_where() -> None:
    either = AnyOf((SqlText("qty = 1"), SqlText("qty = 2")))
    predicate = bound(element("a", AllOf((SqlText("price > 1"), either)))).where["a"]
    assert str(predicate) == "Price > 1 AND (qty = 1 OR qty = 2)"


def test_callables_and_spark_columns() -> None:
    spark_column = object()
    conditions = bound(
        element("a", PythonCondition(lambda event, taken: True)), element("b", ColumnCondition(spark_column))
    )
    assert conditions.calls_python
    assert conditions.where["a"].reads_variables
    assert not conditions.where["b"].reads_variables


def test_own_variable_is_read_in_aggregates_and_else_the_error_gives_both_spellings() -> None:
    bound(element("a", "price > LAST(a.price) OR COUNT(a.*) = 0"))
    error = refusal(element("a", "a.price > 1"))
    assert error.element == "element 'a'"
    assert error.remedy == "write `price` for the current event, or `LAST(a.price)` for the one it took before"


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        ("LAST(c.price) > 1", "`c` is a later element and has taken nothing yet", "here: `a`, `b`"),
        ("c.price > 1", "`c` is a later element and has taken nothing yet", "here: `a`, `b`"),
        ("LAST(n.price) > 1", "`n` is a negation", "a negation takes no events"),
        ("LAST(aa.price) > 1", "`aa` is not a variable of the pattern", "did you mean `a`?"),
        ("LAST(zz.price) > 1", "`zz` is not a variable of the pattern", "the variables are `a`, `b`, `c`, `n`"),
        ("prise > 1", "there is no column `prise`", "did you mean `Price`?"),
        ("LAST(a.prise) > 1", "there is no column `prise`", "did you mean `Price`?"),
        ("a > 1", "`a` is a variable, not a column", "LAST(a.name)"),
        ("qq.price > 1", "`qq` is neither a variable of the pattern nor a column", "the variables are"),
        ("name.x > 1", "`name` is a string and has no field `x`", "not a variable"),
        ("price", "this is a value of type double, not a condition", "compare it with something"),
        ("name = 'x' AND qty", "AND needs conditions, this is of type int", "compare it"),
        ("ts > 5", "`>` does not work between timestamp and int", "CAST"),
        ("qty > 'many'", "cannot cast 'many' to bigint", "the other side is of type bigint"),
        ("SUM(a.ts) > 1", "SUM cannot be computed over values of type timestamp", "any type"),
        ("date_trunc('day', a.ts) = ts", "`date_trunc` is outside what can be", "LAST(date_trunc('day', a.ts))"),
        ("s = 1", "`=` does not work between struct<f: int> and int", "CAST"),
        ("s = s", "values of type struct<f: int> cannot be compared here", "compare a field"),
    ],
)
def test_what_cannot_be_read_or_compared_is_said_with_a_remedy(text: str, problem: str, remedy: str) -> None:
    error = refusal(element("a"), absent("n"), element("b", text), element("c"))
    assert error.element == "element 'b'"
    assert error.problem.startswith(problem)
    assert remedy in error.remedy
    assert error.problem.split("\n")[1] == "    " + text


def test_the_caret_of_an_unknown_column_stands_under_its_name() -> None:
    error = refusal(element("a", "price > 1 AND amuont > 2"))
    assert error.problem.split("\n")[2] == "    " + " " * 14 + "^^^^^^"


def test_a_struct_column_with_a_variables_name_is_an_error_where_it_is_used() -> None:
    bound(element("s"), element("b", "price > 1"))
    for text in ("s.f > 1", "LAST(s.f) > 1"):
        assert "is a variable and also a struct column" in refusal(element("s"), element("b", text)).problem


def test_a_field_of_a_struct_column_is_sparks() -> None:
    predicate = bound(element("a", "s.f > 1")).where["a"]
    assert str(predicate.own_event) == "s.f > 1"


def test_a_columns_name_that_differs_by_case_only_is_ambiguous_when_used() -> None:
    schema = Schema.of([("x", types.INT), ("X", types.INT)])
    assert "differ only by case" in refusal(element("a", "x > 1"), schema=schema).problem


def test_nots_read_what_was_taken_before_them_and_not_before_reads_all() -> None:
    conditions = bound(
        element("a"),
        absent("n", "price > LAST(a.price)"),
        element("b"),
        not_before=(NotBefore("x", condition("name = LAST(b.name)")),),
    )
    assert conditions.where["n"].reads_variables
    assert conditions.where["x"].reads_variables
    error = refusal(element("a"), absent("n", "price > LAST(b.price)"), element("b"))
    assert error.element == "not 'n'"


def test_until_reads_its_own_element_or_all_of_its_group() -> None:
    conditions = bound(
        element("a", until="COUNT(a.*) > 2"), group(element("b"), element("c"), until="price > SUM(c.price)")
    )
    assert {path: str(predicate) for path, predicate in conditions.until.items()} == {
        (0,): "COUNT(a.*) > 2",
        (1,): "Price > SUM(c.Price)",
    }
    error = refusal(element("a", until="COUNT(b.*) > 2"), element("b"))
    assert error.element == "until of element 'a'"


def test_inside_a_group_a_later_element_of_it_is_still_later() -> None:
    error = refusal(group(element("a", "price > LAST(b.price)"), element("b"), until="price > 9"))
    assert "`b` is a later element" in error.problem


def test_a_fold_is_read_by_its_own_element_and_later_ones() -> None:
    total = Fold("total", "0", "total + price")
    conditions = bound(element("a", "total < 10", folds=(total,)), element("b", "price > Total"))
    read = next(node for node in walk(conditions.where["b"].expression) if isinstance(node, FoldValue))
    assert (read.variable, read.name, read.type) == ("a", "total", types.DOUBLE)
    error = refusal(element("a", "total > 1"), element("b", folds=(total,)))
    assert error.problem.startswith("`total` is a fold of a later element")


@pytest.mark.parametrize(
    ("fold", "problem"),
    [
        (Fold("price", "0", "price + 1"), "`price` is also a column of the events"),
        (Fold("z", "0", "z + a.price"), "`a` is neither a variable of the pattern nor a column"),
        (Fold("z", "price", "z + 1"), "there is no column `price`"),
        (Fold("z", "0", "ts"), "it starts as int and becomes timestamp"),
        (Fold("z", "0", "z +"), "a value is missing next to `+`"),
    ],
)
def test_folds_that_are_refused(fold: Fold, problem: str) -> None:
    error = refusal(element("a", folds=(fold,)))
    assert error.element == f"fold {fold.name!r} of element 'a'"
    assert error.problem.startswith(problem)


def test_two_folds_of_one_name_are_refused() -> None:
    fold = Fold("z", "0", "z + 1")
    assert refusal(element("a", folds=(fold,)), element("b", folds=(fold,))).problem == "another fold has this name"


@pytest.mark.parametrize(
    ("init", "update", "expected"),
    [
        ("0", "z + 1", types.LONG),
        ("0", "z + qty", types.LONG),
        ("0", "z + cost", decimal(38, 2)),
        ("NULL", "CASE WHEN z IS NULL OR price > z THEN price ELSE z END", types.DOUBLE),
        ("''", "concat(z, name)", types.STRING),
    ],
)
def test_the_type_of_a_fold_holds_what_its_update_makes(init: str, update: str, expected: types.DataType) -> None:
    assert bound(element("a", folds=(Fold("z", init, update),))).folds[0].type == expected


def test_registers_are_shared_and_only_those_that_are_read() -> None:
    text = "price > AVG(a.price) AND SUM(a.price) > 1 AND LAST(a.price, 2) > LAST(a.price) AND COUNT(a.price) > 1"
    registers = bound(element("a"), element("b", text), element("c", text)).registers
    assert str(registers).split("\n") == [
        "r0: sum(Price) of a",
        "r1: count(Price) of a",
        "r2: last(Price) of a, 3 deep",
    ]


def test_binding_a_small_pattern_takes_well_under_a_millisecond() -> None:
    tree = pattern(
        element("a", "name = 'a'"),
        element("b", "name = 'b' AND price > 2 * AVG(a.price)"),
        element("c", "name = 'c' AND price > LAST(b.price)"),
    )
    bind(tree, SCHEMA)
    times = []
    for _ in range(30):
        start = time.process_time()
        bind(tree, SCHEMA)
        times.append(time.process_time() - start)
    assert min(times) < 0.001
