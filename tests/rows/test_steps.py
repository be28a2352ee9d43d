"""Keys by step and several tables on rows in memory; random patterns against the definition, partition by partition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syntax.strategies import patterns

from cepheid import ConditionError, InputError, Pattern, SkipError, all_of, one_of
from cepheid.conditions import Schema, bind
from cepheid.conditions.steps import elements_of
from cepheid.conditions.types import LONG, STRING
from cepheid.reference import definition
from cepheid.syntax.combining import conjunction
from cepheid.syntax.tree import (
    AllOfMembers,
    Condition,
    Element,
    Not,
    OneOf,
    PatternTree,
    PythonCondition,
    Sequence,
    Variable,
    variables,
)

NETWORK = [
    {"ts": 1, "host_ip": "A", "port": 445, "user": "u"},
    {"ts": 2, "host_ip": "B", "port": 445, "user": "u"},
    {"ts": 3, "host_ip": None, "port": 445, "user": "u"},
]
PIPES = [
    {"ts": 5, "source_ip": "A", "pipe": "x", "user": "u"},
    {"ts": 6, "source_ip": "C", "pipe": "x", "user": "u"},
    {"ts": 7, "source_ip": None, "pipe": "x", "user": "u"},
]
LATERAL = Pattern.begin("net").where("port = 445").followed_by("pipe").where("pipe = 'x' AND user = net.user")
BY_IP = {"ip": {"net": "host_ip", "pipe": "source_ip"}}
PROCESSES = [
    {"t": 1, "pid": 1, "parent": 0},
    {"t": 2, "pid": 2, "parent": 1},
    {"t": 3, "pid": 3, "parent": 2},
    {"t": 4, "pid": None, "parent": 2},
]


def taken(found: Any, time: str = "t") -> list[tuple[Any, ...]]:
    """The key and the times of each variable."""

    def times(value: Any) -> Any:
        return [one[time] for one in value] if isinstance(value, list) else value and value[time]

    own = ("match_id", "start_time", "end_time", "at")
    return [
        tuple(times(v) if isinstance(v, dict | list) else v for n, v in match.items() if n not in own)
        for match in found
    ]


def test_each_element_has_a_table_of_its_own() -> None:
    found = LATERAL.within(60).match_events({"net": NETWORK, "pipe": PIPES}, partition_by=BY_IP, order_by="ts")
    [match] = found.matches
    assert (match["ip"], match["net"], match["pipe"]) == ("A", NETWORK[0], PIPES[0])  # NULL joins nothing


def test_several_elements_may_share_a_table_whose_events_come_once() -> None:
    pattern = Pattern.begin("a").next("b").next("c")
    found = pattern.match_events({"a": PROCESSES, "b": PROCESSES, "c": PROCESSES}, order_by="t")
    assert taken(found) == taken(pattern.match_events(PROCESSES, order_by="t")) == [(1, 2, 3), (2, 3, 4)]


def test_an_event_with_two_roles_is_in_two_partitions_and_once_in_one() -> None:
    pattern = Pattern.begin("a").next("b")
    by_step = {"p": {"a": "pid", "b": "parent"}}
    assert taken(pattern.match_events(PROCESSES, partition_by=by_step, order_by="t")) == [(1, 1, 2), (2, 2, 3)]
    # Process 3 ends in the partition 2 as `b`; that one is looked at once, though `a` and `b` name the same value.
    same = {"p": {"a": "parent", "b": "parent"}}
    assert taken(pattern.match_events(PROCESSES, partition_by=same, order_by="t")) == [(2, 3, 4)]


def test_strict_links_and_counts_see_their_partition_only() -> None:
    rows = [
        {"t": 1, "key": 1, "other": 9, "k": "a"},
        {"t": 2, "key": 2, "other": 9, "k": "z"},  # of no use to partition 1
        {"t": 3, "key": 9, "other": 1, "k": "b"},
    ]
    keys = {"id": {"a": "key", "b": "other"}}
    pattern = Pattern.begin("a").where("k = 'a'").next("b").where("k = 'b'")
    assert taken(pattern.within(events=2).match_events(rows, partition_by=keys, order_by="t")) == [(1, 1, 3)]
    between = [*rows[:1], {"t": 2, "key": 7, "other": 1, "k": "z"}, rows[2]]  # a candidate for b in partition 1
    assert taken(pattern.match_events(between, partition_by=keys, order_by="t")) == []


def test_negations_have_keys_too() -> None:
    pattern = (
        Pattern.begin("a").where("k = 'a'").not_followed_by("x").where("k = 'x'").followed_by("b").where("k = 'b'")
    )
    rows = [
        {"t": 1, "id": 1, "of": None, "k": "a"},
        {"t": 2, "id": 1, "of": 2, "k": "x"},  # belongs to 2 by what a negation is joined by
        {"t": 3, "id": 1, "of": None, "k": "b"},
        {"t": 4, "id": 2, "of": None, "k": "a"},
        {"t": 5, "id": 1, "of": 2, "k": "x"},
        {"t": 6, "id": 2, "of": None, "k": "b"},
    ]
    keys = {"key": {"a": "id", "b": "id", "x": "of"}}
    assert taken(pattern.match_events(rows, partition_by=keys, order_by="t")) == [(1, 1, 3)]
    before = Pattern.not_before("x").where("k = 'x'").begin("a").where("k = 'a'").within(5)
    keys = {"key": {"a": "id", "x": "of"}}
    assert taken(before.match_events(rows, partition_by=keys, order_by="t")) == [(1, 1)]


def test_an_array_joins_once_for_each_of_its_values() -> None:
    rows = [
        {"t": 1, "hosts": ["x", "y"]},
        {"t": 2, "hosts": ["y", "z", "y", None]},
        {"t": 3, "hosts": None},
        {"t": 4, "hosts": []},
        {"t": 5, "hosts": ["z"]},
    ]
    pair = Pattern.begin("a").next("b")
    assert taken(pair.match_events(rows, partition_by={"host": "hosts"}, order_by="t")) == [("y", 1, 2), ("z", 2, 5)]
    two = [
        {"t": 1, "u": "v", "hosts": ["x", "y"]},
        {"t": 2, "u": "v", "hosts": ["y"]},
        {"t": 3, "u": "w", "hosts": ["y"]},
    ]
    assert taken(pair.match_events(two, partition_by={"host": "hosts", "u": "u"}, order_by="t")) == [("y", "v", 1, 2)]


def test_a_key_is_an_expression() -> None:
    keys = {"p": {"a": "pid * 10", "b": "CAST(parent AS BIGINT) * 10"}}
    found = Pattern.begin("a").next("b").match_events(PROCESSES, partition_by=keys, order_by="t")
    assert taken(found) == [(10, 1, 2), (20, 2, 3)]


def test_no_key_and_several_tables() -> None:
    found = LATERAL.match_events({"net": NETWORK, "pipe": PIPES}, order_by="ts")
    assert taken(found, "ts") == [(1, 5), (2, 5), (3, 5)]


def test_an_until_is_asked_of_what_its_loop_could_take() -> None:
    pattern = Pattern.begin("a").where("k = 'a'").one_or_more().until("k = 'end'").next("b").where("k = 'b'")
    rows = [
        {"t": 1, "x": 1, "y": None, "k": "a"},
        {"t": 2, "x": None, "y": 1, "k": "end"},  # only a candidate for b
        {"t": 3, "x": 1, "y": None, "k": "a"},
        {"t": 4, "x": None, "y": 1, "k": "b"},
    ]
    found = pattern.match_events(rows, partition_by={"key": {"a": "x", "b": "y"}}, order_by="t")
    assert taken(found) == [(1, [1, 3], 4), (1, [3], 4)]


def test_everything_that_shapes_a_result() -> None:
    tables = {"net": NETWORK, "pipe": PIPES}
    pattern = LATERAL.within(60)
    measures = {"port": "LAST(net.port)", "pipe": "pipe.pipe", "key": "ip"}
    [match] = pattern.match_events(tables, partition_by=BY_IP, order_by="ts", measures=measures).matches
    assert (match["port"], match["pipe"], match["key"]) == (445, "x", "A")
    rows = pattern.match_events(tables, partition_by=BY_IP, order_by="ts", rows="all").matches
    assert [(row["variable"], row["port"], row["source_ip"]) for row in rows] == [
        ("net", 445, None),
        ("pipe", None, "A"),
    ]
    [match] = pattern.match_events(tables, partition_by=BY_IP, order_by="ts", columns=["port", "pipe", "ts"]).matches
    assert (match["net"], match["pipe"]) == ({"port": 445, "ts": 1}, {"pipe": "x", "ts": 5})
    counted = pattern.count_events(tables, partition_by=BY_IP, order_by="ts")
    assert counted.to_pylist() == [{"ip": "A", "end_time": 5, "matches": 1}]
    found = pattern.match_events(tables, partition_by=BY_IP, order_by="ts")
    assert "host_ip for 'net' (__role_0) source_ip for 'pipe' (__role_1)" in str(found.explain())
    assert "role" not in str(found.timeline())


def test_a_key_may_be_called_like_a_column_that_is_the_key() -> None:
    net = [{"t": 1, "ip": "A", "n": 1}]
    pipe = [{"t": 2, "source_ip": "A"}]
    pattern = Pattern.begin("net").where("ip = 'A'").followed_by("pipe").where("source_ip = net.ip")
    keys = {"ip": {"net": "ip", "pipe": "source_ip"}}
    [match] = pattern.match_events({"net": net, "pipe": pipe}, partition_by=keys, order_by="t").matches
    assert (match["ip"], match["net"], match["pipe"]) == ("A", {"t": 1, "ip": "A", "n": 1}, pipe[0])
    with pytest.raises(InputError, match=r"'pid' is a key, parent for 'b', and also a column"):
        Pattern.begin("a").next("b").match_events(
            PROCESSES, partition_by={"pid": {"a": "pid", "b": "parent"}}, order_by="t"
        )
    with pytest.raises(InputError, match=r"source_ip for 'pipe', and also a column of the table of 'pipe'"):
        pattern.match_events({"net": net, "pipe": [{**pipe[0], "ip": "B"}]}, partition_by=keys, order_by="t")
    with pytest.raises(InputError, match=r"'ip' is a key and also a column of arrays"):
        Pattern.begin("net").followed_by("pipe").match_events(
            {"net": [{**net[0], "ip": ["A", "B"]}], "pipe": pipe}, partition_by=keys, order_by="t"
        )


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"p": {"a": "pid"}}, r"partition_by\['p'\] does not mention 'b'"),
        ({"p": {"a": "pid", "b": "pid", "c": "pid"}}, "has 'c', which is not an element of the pattern"),
        ({"p": {"a": "pid", "b": "nothing"}}, "partition_by, 'p' of 'b': there is no column `nothing`"),
        ({"p": {"a": "pid", "b": "a.pid"}}, "reads a variable"),
        ({"p": {"a": "pid", "b": "CAST(parent AS STRING)"}}, "pid is int64 for 'a', but .* is string for 'b'"),
        ({"p": 3}, r"partition_by\['p'\] is 3"),
        ({"p": {"a": "pid", "b": 3}}, "which is not SQL text"),
        ({3: "pid"}, "has a key called 3"),
    ],
)
def test_keys_that_cannot_be(keys: Any, problem: str) -> None:
    with pytest.raises((InputError, ConditionError), match=problem):
        Pattern.begin("a").next("b").match_events(PROCESSES, partition_by=keys, order_by="t")


@pytest.mark.parametrize(
    ("tables", "order", "problem"),
    [
        ({"net": NETWORK}, "ts", "events does not mention 'pipe'"),
        ({"net": NETWORK, "pip": PIPES}, "ts", "Did you mean `pipe`"),
        ({"net": NETWORK, "pipe": []}, "ts", "the table of 'pipe' has no columns"),
        ({"net": NETWORK, "pipe": PIPES}, None, "order_by is missing"),
        (
            {"net": NETWORK, "pipe": [{"t": 1, "source_ip": "A", "pipe": "x"}]},
            "ts",
            "names no column of the table of 'pipe'",
        ),
        (
            {"net": NETWORK, "pipe": [{**PIPES[0], "user": 3}]},
            "ts",
            "'user' is string in the table of 'net', but int64 in the table of 'pipe'",
        ),
        ({"net": NETWORK, "pipe": [{**PIPES[0], "Port": 3}]}, "ts", "has a column 'port', .* has 'Port'"),
        ({"net": PIPES, "pipe": NETWORK}, "ts", "there is no column `host_ip`"),
    ],
)
def test_tables_that_cannot_be(tables: Any, order: Any, problem: str) -> None:
    with pytest.raises((InputError, ConditionError), match=problem):
        LATERAL.within(60).match_events(tables, partition_by=BY_IP, order_by=order)


def test_a_condition_reads_the_columns_of_its_own_table() -> None:
    pattern = Pattern.begin("net").followed_by("pipe").where("port = 445")  # a column of the other table
    with pytest.raises(ConditionError, match="there is no column `port`"):
        pattern.match_events({"net": NETWORK, "pipe": PIPES}, partition_by=BY_IP, order_by="ts")
    pattern = Pattern.begin("net").followed_by("pipe").where("pipe = net.source_ip")
    with pytest.raises(ConditionError, match="there is no column `source_ip`"):
        pattern.match_events({"net": NETWORK, "pipe": PIPES}, partition_by=BY_IP, order_by="ts")


def test_a_key_of_the_pattern_itself_is_not_given_again() -> None:
    pattern = Pattern.parse("EVENT SEQ(A a, B b) WHERE [id] WITHIN 5", type_column="k")
    with pytest.raises(InputError, match="given by step, but the pattern itself"):
        pattern.match_events([{"t": 1, "k": "A", "id": 1}], partition_by={"i": "id"}, order_by="t")


def test_alternatives_and_members_have_keys_of_their_own() -> None:
    rows = [
        {"t": 1, "x": 1, "y": 5, "k": "a"},
        {"t": 2, "x": 7, "y": 1, "k": "b"},
        {"t": 3, "x": 1, "y": 8, "k": "c"},
    ]
    a, b, c = (Pattern.begin(name).where(f"k = '{name}'") for name in "abc")
    keys = {"key": {"a": "x", "b": "y", "c": "x"}}
    every = Pattern.begin(all_of(a, b, c)).match_events(rows, partition_by=keys, order_by="t")
    assert taken(every) == [(1, 1, 2, 3)]
    either = a.followed_by(one_of(c, b)).match_events(rows, partition_by=keys, order_by="t")
    assert taken(either) == [(1, 1, None, 2)]


def test_a_field_of_a_struct_is_a_key() -> None:
    rows = [{"t": t, "geo": {"city": city, "at": {"floor": t % 2}}} for t, city in enumerate("abab", start=1)]
    pattern = Pattern.begin("a").next("b")
    found = pattern.match_events(rows, partition_by="geo.City", order_by="t").matches
    assert [(one["City"], one["a"]["t"], one["b"]["t"]) for one in found] == [("a", 1, 3), ("b", 2, 4)]
    assert len(pattern.match_events(rows, partition_by=["geo.at.floor", "geo.city"], order_by="t").matches) == 2
    with pytest.raises(ConditionError, match="`geo` has no field `cty`"):
        pattern.match_events(rows, partition_by="geo.cty")


# ── random patterns ──────────────────────────────────────────────────────────────────────────────────────────────────

COLUMNS = [("t", LONG), ("id", LONG), ("name", STRING), ("price", LONG)]
EXPRESSIONS: dict[str, Callable[[dict[str, Any]], list[int | None]]] = {
    "x": lambda event: [event["x"]],
    "y": lambda event: [event["y"]],
    "x + 1": lambda event: [None if event["x"] is None else event["x"] + 1],
    "many": lambda event: event["many"] or [],
}
"""Keys, and what they give for an event."""

small = st.sampled_from((0, 0, 0, 1, None))  # few keys, so that most events are candidates for something
events = st.lists(
    st.fixed_dictionaries(
        {
            "step": st.integers(0, 3),
            "name": st.sampled_from("aab"),
            "price": st.one_of(st.integers(0, 9), st.none()),
            "x": small,
            "y": small,
            "many": st.lists(small, max_size=3),
            "table": st.integers(0, 1),
        }
    ),
    min_size=3,
    max_size=10,
)
LONGS = ("t", "id", "price", "x", "y")
KINDS = pa.schema([*((name, pa.int64()) for name in LONGS), ("name", pa.string()), ("many", pa.list_(pa.int64()))])


def own_texts(readable: Any = ()) -> st.SearchStrategy[str]:
    """Conditions that many events satisfy."""
    return st.sampled_from(("name = 'a'", "name = 'b'", "price >= 0 OR price IS NULL"))


# Nearly all of one partition, most of them candidates either for the loop or for what comes after it.
candidates_apart = st.builds(
    lambda name, key, step: {"step": step, "name": name, "price": 1, "x": key[0], "y": key[1], "many": [], "table": 0},
    st.sampled_from("ab"),
    st.sampled_from(((0, None), (0, None), (None, 0), (None, 0), (0, 0))),
    st.integers(0, 1),
)


@st.composite
def loops_until(draw: st.DrawFn) -> PatternTree:
    """A loop or looped group that many an event would end, if it were asked of events that it cannot take."""
    loop = Pattern.begin("a").where("name = 'a'")
    if draw(st.booleans()):
        loop = Pattern.begin(loop.followed_by("c").where("name = 'a'").optional())
    loop = loop.one_or_more().until("name = 'b'")
    link = draw(st.sampled_from((loop.next, loop.followed_by, loop.followed_by_any)))
    return link("b").where(draw(own_texts())).within(draw(st.integers(5, 20))).tree


# Half of them with conditions that are easily satisfied, so that roles decide.
trees = st.one_of(patterns(beyond=True), patterns(own_texts, largest_sequence=4, depth=1))


@settings(max_examples=max(120, settings().max_examples))
@given(trees, events, st.data())
def test_keys_by_step_are_what_the_definition_finds_in_each_partition(
    tree: PatternTree, drawn: list[dict[str, Any]], data: st.DataObject
) -> None:
    elements = list(elements_of(tree))
    keys = {element: data.draw(st.sampled_from(sorted(EXPRESSIONS))) for element in elements}
    has_two_tables = data.draw(st.booleans())
    table_of = {element: data.draw(st.integers(0, 1)) if has_two_tables else 0 for element in elements}
    assert_by_definition(tree, drawn, keys, table_of, has_two_tables)


@settings(max_examples=max(60, settings().max_examples))
@given(loops_until(), st.lists(candidates_apart, min_size=4, max_size=9))
def test_the_until_of_a_loop_with_a_key_of_its_own(tree: PatternTree, drawn: list[dict[str, Any]]) -> None:
    elements = list(elements_of(tree))
    keys = {element: "y" if element == elements[-1] else "x" for element in elements}
    assert_by_definition(tree, drawn, keys, dict.fromkeys(elements, 0), False)


def assert_by_definition(
    tree: PatternTree,
    drawn: list[dict[str, Any]],
    keys: dict[str, str],
    table_of: dict[str, int],
    has_two_tables: bool,
) -> None:
    """What is found is what the definition finds in each partition."""
    elements = list(elements_of(tree))
    rows, time = [], 0
    for number, one in enumerate(drawn):
        time += one["step"]
        rows.append({**one, "t": time, "id": number, "table": one["table"] if has_two_tables else 0})

    def candidates(row: dict[str, Any], key: int) -> frozenset[str]:
        return frozenset(e for e in elements if table_of[e] == row["table"] and key in EXPRESSIONS[keys[e]](row))

    expected: list[Any] = []
    try:
        for key in range(4):
            mine = [{**row, "for": candidates(row, key)} for row in rows if candidates(row, key)]
            expected += _by_definition(tree, mine, key)
    except SkipError:
        expected = [SkipError]
    tables = [pa.Table.from_pylist([row for row in rows if row["table"] == number], KINDS) for number in (0, 1)]
    given = {element: tables[table_of[element]] for element in elements} if has_two_tables else tables[0]
    try:
        # `order_by` breaks ties between the tables as the list of all events has them.
        found = Pattern(tree).match_events(given, partition_by={"key": keys}, order_by=["t", "id"])
        answer: list[Any] = sorted(_ids(tree, found.matches, False) + _ids(tree, found.timeouts, True))
    except SkipError:
        answer = [SkipError]
    assert answer == (expected if SkipError in expected else sorted(expected))


def _by_definition(tree: PatternTree, rows: list[dict[str, Any]], key: int) -> list[Any]:
    """Matches and timeouts of one partition, in which each element takes only what is a candidate for it."""
    asked = replace(tree, body=_asking(tree.body))
    asked = replace(
        asked,
        not_before=tuple(replace(one, condition=_candidate((one.name,), one.condition)) for one in tree.not_before),
    )
    schema = Schema.of(COLUMNS)
    times = [row["t"] for row in rows]
    outcome = definition.evaluate(asked, bind(asked, schema), rows, times, end_of_input=True)
    names = [variable.name for _, _, variable in variables(tree.body)]
    return [
        (key, at, tuple(tuple(rows[i]["id"] for i, v in one.taken if v == name) for name in names))
        for one, at in [(m, -1) for m in outcome.matches] + [(t, int(t.at)) for t in outcome.timeouts]
    ]


def _ids(tree: PatternTree, found: list[dict[str, Any]], with_moment: bool) -> list[Any]:
    names = [variable.name for _, _, variable in variables(tree.body)]

    def ids(value: Any) -> tuple[int, ...]:
        return tuple(one["id"] for one in (value if isinstance(value, list) else [value]) if one is not None)

    return [(one["key"], one["at"] if with_moment else -1, tuple(ids(one[name]) for name in names)) for one in found]


def _candidate(names: tuple[str, ...], condition: Condition | None) -> Condition:
    is_candidate = PythonCondition(lambda event, _: bool(event["for"] & set(names)))
    return is_candidate if condition is None else conjunction((is_candidate, condition))


def _asking(body: Any) -> Any:
    """The body with conditions that ask whether an event is a candidate."""
    if isinstance(body, Variable):
        return replace(body, condition=_candidate((body.name,), body.condition))
    parts = tuple(_asking_part(part) for part in body.parts)
    match body:
        case Sequence():
            return replace(body, elements=parts)
        case OneOf():
            return OneOf(parts)
        case AllOfMembers():
            return replace(body, members=parts)


def _asking_part(part: Element | Not) -> Element | Not:
    if isinstance(part, Not):
        return replace(part, condition=_candidate((part.name,), part.condition))
    loop = part.loop
    if loop is not None and loop.until is not None:
        inside = Sequence((part,))
        names = tuple(variable.name for _, _, variable in variables(inside))
        loop = replace(loop, until=_candidate(names, loop.until))
    return replace(part, body=_asking(part.body), loop=loop)
