"""The kernel against the reference on cases biased to corners, and the shortest of what `make search` has found."""

from __future__ import annotations

import pytest
from conformance.corner_cases import Json, cases, is_well_formed, shorter
from conformance.search import Different, as_probe, examine, shrunk
from hypothesis import given, settings


@settings(max_examples=max(150, settings().max_examples))
@given(cases("corners"))
def test_kernel_and_reference_agree_on_corners(case: Json) -> None:
    examine(case)


A = {"col": "name", "op": "=", "value": "a"}
ONE_EVENT = [{"t": 15, "id": 1, "name": "a", "price": 2}]


def pattern(*elements: Json, skip: str = "no_skip") -> Json:
    return {"seq": [{"link": "begin", "name": "v1"}, *elements], "skip": {"kind": skip}}


@pytest.mark.parametrize(
    "elements",
    [
        [{"link": "not_next", "name": "n1"}, {"link": "not_followed_by", "name": "n2", "within_prev": 6}],
        [{"link": "not_followed_by", "name": "n1", "within_prev": 6}, {"link": "not_next", "name": "n2"}],
        [{"link": "not_next", "name": "n1"}, {"link": "not_next", "name": "n2", "within_prev": 6}],
    ],
)
def test_at_the_end_of_the_input_a_not_next_does_not_cut_short_the_nots_beside_it(elements: list[Json]) -> None:
    case = {"pattern": pattern(*elements), "events": ONE_EVENT, "end_of_input": True}
    assert examine(case) == "with matches"
    assert '"matches": [{"v1": [1]}]' in as_probe(case, "")


SINCE_FIRST = {"link": "followed_by", "name": "v3", "within_since": {"var": "v1", "t": 4}}


@pytest.mark.parametrize(
    ("elements", "skip", "times", "reported"),
    [
        # the match of the event that completes it forbids the start of a run that is out of time on arrival
        (
            [{"link": "followed_by_any", "name": "v2"}, SINCE_FIRST],
            {"kind": "to_first", "target": "v1"},
            (6, 8, 9, 11),
            2,
        ),
        # a match decided as time moved to that moment does
        (
            [
                {"link": "followed_by", "group": [{"link": "begin", "name": "v2"}, SINCE_FIRST], "optional": True},
                {"link": "not_next", "name": "n1", "within_prev": 5},
            ],
            {"kind": "to_next"},
            (3, 8),
            1,
        ),
    ],
)
def test_a_run_out_of_time_on_arrival_is_reported_at_the_moment_that_forbids_its_start(
    elements: list[Json], skip: Json, times: tuple[int, ...], reported: int
) -> None:
    events = [{"t": time, "id": time, "name": "a", "price": 0} for time in times]
    case = {"pattern": {**pattern(*elements), "skip": skip}, "events": events}
    assert examine(case) == "with matches"
    assert as_probe(case, "").count('"at"') >= reported


def test_a_difference_is_noticed_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    from conformance import search

    def blind(*arguments: object) -> object:
        return search.Outcome((), ())

    monkeypatch.setattr(search, "outcome_of", blind)
    group = {"link": "followed_by", "group": [{"link": "begin", "name": "v2", "where": A, "times": [1, None]}]}
    events = [{"t": time, "id": time, "name": "a", "price": 0} for time in range(1, 6)]
    case = {"pattern": pattern(group, skip="to_next"), "events": events, "advance_to": 9}
    with pytest.raises(Different, match="whole, without timeouts"):
        examine(case)
    [element] = shrunk(case)["pattern"]["seq"]
    assert element == {"link": "begin", "name": "v2"}
    assert shrunk(case)["events"] == events[4:]


def test_what_a_case_is_shrunk_to_is_well_formed() -> None:
    group = {"link": "next", "group": [{"link": "begin", "name": "v2"}, {"link": "not_next", "name": "n1"}]}
    case = {"pattern": pattern(group), "events": ONE_EVENT}
    found = list(shorter(case))
    assert len(found) > 3
    assert all(is_well_formed(less) for less in found)
