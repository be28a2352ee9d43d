"""Each example runs in memory and finds what is there, told by plain loops over the same events or by what was planted.

The scripts themselves assert what they have planted; the tests check that there is something to find and to overlook.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from examples.scripts import NAMES, run

Event = dict[str, Any]


def by_key(events: list[Event], key: str, order: tuple[str, ...]) -> list[list[Event]]:
    groups: dict[object, list[Event]] = defaultdict(list)
    for event in sorted(events, key=lambda event: tuple(event[name] for name in order)):
        groups[event[key]].append(event)
    return list(groups.values())


def test_there_are_nine() -> None:
    assert NAMES == [
        "abandoned_cart",
        "brute_force_login",
        "card_fraud",
        "earthquake_swarms",
        "funnel",
        "machine_heating",
        "order_not_paid",
        "shoplifting",
        "v_shapes",
    ]


@pytest.mark.parametrize(
    ("name", "truth", "key", "planted"),
    [
        ("shoplifting", lambda left: left["shop"].stolen, "tag", 106),
        ("card_fraud", lambda left: left["frauds"], "card", 40),
        ("brute_force_login", lambda left: left["attackers"], "address", 20),
        ("machine_heating", lambda left: left["heated"], "machine", 10),
        ("order_not_paid", lambda left: left["unpaid"], "order_id", 150),
    ],
)
def test_what_was_planted_is_found_once(name: str, truth: Any, key: str, planted: int) -> None:
    left, printed = run(name)
    assert len(truth(left)) == planted
    assert sorted(match[key] for match in left["found"].matches) == sorted(truth(left))
    assert f"{planted} " in printed.splitlines()[-1 if name != "order_not_paid" else -2]


def abandoned_carts(events: list[Event]) -> list[tuple[int, int]]:
    """The lines of each cart and checkout: every candidate first, then those that `past_last_event` lets through."""
    hour, day, carts = timedelta(hours=1), timedelta(days=1), []
    for story in by_key(events, "user", ("ts", "line")):
        candidates = []
        for start, add in enumerate(story):
            behind = [place for place in range(start + 1, len(story)) if story[place]["event"] in CHECKOUT]
            if add["event"] != "add_to_cart" or not behind or story[behind[0]]["ts"] - add["ts"] >= day:
                continue
            until = min(story[behind[0]]["ts"] + hour, add["ts"] + day)
            later = story[behind[0] + 1 :]
            if not any(event["event"] == "purchase" and event["ts"] < until for event in later):
                candidates.append((until, start, behind[0]))
        free_from = 0
        for _, start, last in sorted(candidates):
            if start >= free_from:
                carts.append((story[start]["line"], story[last]["line"]))
                free_from = last + 1
    return carts


CHECKOUT = {"shipping_details", "payment_details", "payment_error"}


def test_abandoned_carts_are_those_that_a_plain_loop_finds() -> None:
    left, _ = run("abandoned_cart")
    carts = abandoned_carts(left["events"])
    found = [(match["add"]["line"], match["checkout"]["line"]) for match in left["found"].matches]
    assert len(carts) == 445
    assert sorted(found) == sorted(carts)


def test_users_who_go_round_take_shipping_and_cart_in_turn() -> None:
    left, _ = run("abandoned_cart")
    assert len(left["rounds"].matches) == 22
    for match in left["rounds"].matches:
        turns = zip(match["shipping"], match["cart"], strict=True)
        steps = [(event["ts"], event["line"]) for turn in turns for event in turn]
        assert len(steps) == 4 and steps == sorted(steps)


def test_swarms_are_the_longest_series_without_a_gap_of_three_hours() -> None:
    left, _ = run("earthquake_swarms")
    swarms = []
    quakes = [quake for quake in left["quakes"] if quake["kind"] == "earthquake"]
    for area in by_key(quakes, "area", ("ts", "id")):
        series = [[area[0]]]
        for before, quake in pairwise(area):
            if quake["ts"] - before["ts"] >= timedelta(hours=3):
                series.append([])
            series[-1].append(quake)
        swarms += [[quake["id"] for quake in one] for one in series if len(one) >= 10]
    assert len(swarms) == 16
    assert sorted([quake["id"] for quake in match["quake"]] for match in left["found"].matches) == sorted(swarms)


def test_main_shocks_are_stronger_than_all_before_them() -> None:
    left, _ = run("earthquake_swarms")
    shocks = left["shocks"].matches
    assert sorted(match["main"]["magnitude"] for match in shocks) == [5.3, 6.0, 6.4]
    for match in shocks:
        assert match["main"]["magnitude"] >= max(quake["magnitude"] for quake in match["fore"]) + 0.5


def test_visits_end_with_half_an_hour_of_nothing() -> None:
    left, _ = run("funnel")
    visits = 0
    steps: dict[str, int] = defaultdict(int)
    names = {"add_to_cart": "CART", "shipping_details": "CHECKOUT", "payment_details": "CHECKOUT", "purchase": "BOUGHT"}
    for user in by_key(left["events"], "user", ("ts", "line")):
        parts = [[user[0]]]
        for before, event in pairwise(user):
            if event["ts"] - before["ts"] >= timedelta(minutes=30):
                parts.append([])
            parts[-1].append(event)
        visits += len(parts)
        for part in parts:
            for step in {names.get(event["event"], "LOOK") for event in part}:
                steps[step] += 1
    assert len({(row["user"], row["visit"]) for row in left["found"]}) == visits
    assert dict(left["reached"]) == dict(steps)


def test_v_shapes_are_those_that_a_loop_finds() -> None:
    left, _ = run("v_shapes")
    deep = set()
    for prices in by_key(left["rows"], "symbol", ("day",)):
        values = [row["price"] for row in prices]
        for start in range(len(values) - 5):
            lowest = start
            while lowest + 1 < len(values) and values[lowest + 1] < values[lowest]:
                lowest += 1
            top = lowest
            while top + 1 < len(values) and values[top + 1] > values[top]:
                top += 1
            if lowest - start >= 4 and top > lowest and values[top] > values[start]:
                deep.add(prices[0]["symbol"])
    assert deep == left["planted"] == {match["symbol"] for match in left["found"].matches}
