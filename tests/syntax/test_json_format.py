"""JSON: nothing is lost, and what is wrong is named by its path."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syntax.strategies import durations, patterns

from cepheid.errors import MalformedPatternError
from cepheid.syntax import PatternBuilder as Pattern
from cepheid.syntax import PatternTree, check, from_json, skip, to_json
from cepheid.syntax.tree import AllOf, AnyOf, Span, SpanUnit, SqlText

FULL = (
    Pattern.not_before("n").where("q = 1")
    .begin("a").where("x = 'ü'").or_where("y", "z").fold("f", init="0", update="f + 1")
    .one_or_more(within={2: "5 s", 3: "1 min"}).consecutive().greedy().until("stop").optional()
    .followed_by(Pattern.begin("b").next("c").times(2, 3, within="2 s").allow_combinations()).times(2).optional()
    .next("d").within("90 s", since="previous")
    .not_followed_by("m").where("w").within("1 h", since="previous")
    .within("1 day").skip(skip.to_last("b", or_fail=True))
)  # fmt: skip


def test_the_format() -> None:
    check(FULL.tree)
    assert json.loads(to_json(FULL.tree)) == {
        "cepheid": 1,
        "not_before": [{"name": "n", "where": "q = 1"}],
        "sequence": [
            {
                "link": "begin",
                "name": "a",
                "where": {"any": ["x = 'ü'", {"all": ["y", "z"]}]},
                "folds": [{"name": "f", "init": "0", "update": "f + 1"}],
                "times": [1, None],
                "inner": "strict",
                "greedy": True,
                "until": "stop",
                "gaps": {"2": "5 seconds", "3": "1 minute"},
                "optional": True,
            },
            {
                "link": "followed_by",
                "group": [
                    {"link": "begin", "name": "b"},
                    {
                        "link": "next",
                        "name": "c",
                        "times": [2, 3],
                        "inner": "non_deterministic",
                        "gaps": "2 seconds",
                    },
                ],
                "times": [2, 2],
                "optional": True,
            },
            {"link": "next", "name": "d", "within_previous": "90 seconds"},
            {"link": "not_followed_by", "name": "m", "where": "w", "within_previous": "1 hour"},
        ],
        "within": "1 day",
        "skip": {"to_last": "b", "or_fail": True},
    }
    assert from_json(to_json(FULL.tree)) == FULL.tree


def test_the_layout_is_readable() -> None:
    text = to_json(Pattern.begin("a").where("x = 'ü'").within(5).tree)
    expected = (
        '{\n  "cepheid": 1,\n  "sequence": [{"link": "begin", "name": "a", "where": "x = \'ü\'"}],\n  "within": 5\n}'
    )
    assert text == expected
    assert max(map(len, to_json(FULL.tree).splitlines())) <= 110


@pytest.mark.parametrize("strategy", [skip.no_skip, skip.to_next, skip.past_last_event, skip.to_first("a")])
def test_windows_and_skips_round_trip(strategy: skip.Skip) -> None:
    for pattern in (Pattern.begin("a").within(events=3), Pattern.begin("a").within(2.5), Pattern.begin("a")):
        tree = pattern.skip(strategy).tree
        assert from_json(to_json(tree)) == tree


fractions = st.floats(0.001, 1e9).map(lambda length: Span(length, SpanUnit.ORDER))


@given(st.one_of(*(patterns(lengths=lengths, beyond=True) for lengths in (None, durations(), fractions))))
def test_nothing_is_lost(tree: PatternTree) -> None:
    assert from_json(to_json(tree)) == tree


def test_conditions_are_kept_flat() -> None:
    text = '{"cepheid": 1, "sequence": [{"link": "begin", "name": "a", "where": {"all": ["x", {"all": ["y", "z"]}]}}]}'
    assert from_json(text) == Pattern.begin("a").where("x", "y", "z").tree
    nested = Pattern.begin("a").where(AllOf((SqlText("x"), AnyOf((SqlText("y"), SqlText("z"))))))
    assert from_json(to_json(nested.tree)) == nested.tree


def always(event: object, taken: object) -> bool:
    return True


def test_callables_and_columns_are_refused_by_element() -> None:
    column = type("Column", (), {"__module__": "pyspark.sql.column"})()
    for pattern, element, kind in (
        (Pattern.begin("a").next("b").where(always), "element 'b'", "a Python callable"),
        (Pattern.begin("a").where("x").or_where(column), "element 'a'", "a Spark Column"),
        (Pattern.begin("a").one_or_more().until(always), "until of element 'a'", "a Python callable"),
        (Pattern.not_before("n").where(always).begin("a"), "not_before 'n'", "a Python callable"),
    ):
        with pytest.raises(MalformedPatternError) as error:
            to_json(pattern.tree)
        assert error.value.element == element
        assert kind in error.value.problem
        assert "SQL text" in error.value.remedy


def with_element(**changes: object) -> dict[str, object]:
    return {"cepheid": 1, "sequence": [{"link": "begin", "name": "a"} | changes]}


@pytest.mark.parametrize(
    ("data", "path", "problem", "remedy"),
    [
        ([], "$", '"cepheid" is missing', '{"cepheid": 1'),
        ({"sequence": []}, "$", '"cepheid" is missing', '{"cepheid": 1'),
        ({"cepheid": 2, "sequence": []}, "$.cepheid", "version is 2", "reads version 1"),
        ({"cepheid": True, "sequence": []}, "$.cepheid", "version is True", "reads version 1"),
        ({"cepheid": 1}, "$", "'sequence' is missing", "Add it"),
        ({"cepheid": 1, "sequence": {}}, "$.sequence", "this is {}", "a list"),
        ({"cepheid": 1, "sequence": [3]}, "$.sequence[0]", "this is 3", "an object"),
        ({"cepheid": 1, "sequence": [], "withn": 3}, "$", "'withn' is not known", "Did you mean 'within'?"),
        (with_element(wher="x"), "$.sequence[0]", "'wher' is not known", "Did you mean 'where'?"),
        (with_element(link="after"), "$.sequence[0].link", "'after'", "'followed_by'"),
        (with_element(name=3), "$.sequence[0].name", "this is 3", "text"),
        (with_element(where=3), "$.sequence[0].where", "3 is not a condition", "SQL text"),
        (with_element(where={"all": ["x", 3]}), "$.sequence[0].where.all[1]", "3 is not a condition", "SQL text"),
        (with_element(where={"all": [], "any": []}), "$.sequence[0].where", "2 keys", "exactly one"),
        (with_element(times=3), "$.sequence[0].times", "this is 3", "a list"),
        (with_element(times=[3]), "$.sequence[0].times", "a list of 1", "Give two"),
        (with_element(times=[1, 2.5]), "$.sequence[0].times[1]", "this is 2.5", "whole number"),
        (with_element(times=[True, None]), "$.sequence[0].times[0]", "this is True", "whole number"),
        (with_element(greedy=True), "$.sequence[0].greedy", "applies to a loop", '"times": [1, null]'),
        (with_element(times=[1, None], greedy=1), "$.sequence[0].greedy", "this is 1", "true or false"),
        (with_element(times=[1, None], inner="loose"), "$.sequence[0].inner", "'loose'", "'strict'"),
        (
            with_element(times=[1, None], gaps={"x": 3}),
            "$.sequence[0].gaps",
            "'x' is not the number of a repetition",
            "from 2",
        ),
        (with_element(times=[1, None], gaps={"2": []}), "$.sequence[0].gaps.2", "[] is not a length", "10 minutes"),
        (with_element(within_previous="5 foo"), "$.sequence[0].within_previous", "unknown unit 'foo'", "10 minutes"),
        (with_element(group=[]), "$.sequence[0]", "'name' is not known", "group"),
        (with_element(folds=[{"name": "z"}]), "$.sequence[0].folds[0]", "'init' is missing", "Add it"),
        (with_element(link="not_next", optional=True), "$.sequence[0]", "'optional' is not known", "within_previous"),
        ({"cepheid": 1, "sequence": [], "within": {"events": "3"}}, "$.within.events", "'3'", "whole number"),
        ({"cepheid": 1, "sequence": [], "within": None}, "$.within", "None is not a length", "10 minutes"),
        ({"cepheid": 1, "sequence": [], "skip": "later"}, "$.skip", "'later'", "'to_next'"),
        ({"cepheid": 1, "sequence": [], "skip": "to_first"}, "$.skip", "'to_first'", "'to_next'"),
        ({"cepheid": 1, "sequence": [], "skip": {"or_fail": True}}, "$.skip", "target", "to_first"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(data: object, path: str, problem: str, remedy: str) -> None:
    with pytest.raises(MalformedPatternError) as error:
        from_json(json.dumps(data))
    assert error.value.element == path
    assert problem in error.value.problem
    assert remedy in error.value.remedy


@pytest.mark.parametrize(
    ("text", "element", "problem"),
    [
        ('{"cepheid": 1,\n "sequence": [}', "JSON line 2, column 15", "this is not JSON"),
        ('{"cepheid": 1, "sequence": [], "sequence": []}', "JSON", "'sequence' appears twice"),
        ('{"cepheid": 1, "sequence": [], "within": NaN}', "JSON", "NaN is not a number"),
    ],
)
def test_text_that_is_not_json(text: str, element: str, problem: str) -> None:
    with pytest.raises(MalformedPatternError) as error:
        from_json(text)
    assert error.value.element == element
    assert problem in error.value.problem


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"cepheid": 1, "sequence": ' + '[{"link": "begin", "group": ' * 2_000 + "[]" + "}]" * 2_000 + "}",
        '{"cepheid": 1, "sequence": [{"link": "begin", "name": "a", "where": '
        + '{"all": [' * 2_000
        + '"x"'
        + "]}" * 2_000
        + "}]}",
        '{"cepheid": 1, "within": ' + "9" * 5_000 + "}",
    ],
    ids=["lists", "objects", "groups", "conditions", "digits"],
)
def test_deep_or_endless_text_is_an_error_of_ours(text: str) -> None:
    with pytest.raises(MalformedPatternError):
        from_json(text)


@pytest.mark.parametrize("depth", [60, 150])
def test_deep_patterns_are_refused_by_name(depth: int) -> None:
    inner = '[{"link": "begin", "name": "a"}]'
    groups = '{"cepheid": 1, "sequence": ' + '[{"link": "begin", "group": ' * depth + inner + "}]" * depth + "}"
    condition = '{"all": ["y", {"any": ["x", ' * depth + '"z"' + "]}]}" * depth
    conditions = f'{{"cepheid": 1, "sequence": [{{"link": "begin", "name": "a", "where": {condition}}}]}}'
    for text in (groups, conditions):
        with pytest.raises(MalformedPatternError, match="nested more than 50 deep"):
            check(from_json(text))


@pytest.mark.parametrize("text", [None, 3, {"cepheid": 1}, b"\xff\xfe{"])
def test_what_is_no_text_is_an_error_of_ours(text: object) -> None:
    with pytest.raises(MalformedPatternError):
        from_json(text)  # type: ignore[arg-type]


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        *(
            "link",
            "name",
            "where",
            "folds",
            "group",
            "one_of",
            "all_of",
            "at_least",
            "times",
            "inner",
            "greedy",
            "whole",
        ),
        *("until", "gaps", "having", "optional", "within_previous", "within_since"),
    ]
)


@given(
    st.dictionaries(KEYS, VALUES, max_size=4),
    st.dictionaries(st.sampled_from(("not_before", "within", "partition_by", "skip", "once_per")), VALUES, max_size=2),
)
def test_odd_json_is_read_or_refused(element: dict[str, object], more: dict[str, object]) -> None:
    data = {"cepheid": 1, "sequence": [{"link": "begin", "name": "a", **element}], **more}
    with contextlib.suppress(MalformedPatternError):
        check(from_json(json.dumps(data)))
