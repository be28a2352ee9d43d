"""Typical mistakes: patterns that do not find what their authors expect, and the cause that `why` should name first."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cepheid import Pattern, skip
from cepheid.explain.why.model import Kind

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Mistake:
    name: str
    pattern: Pattern
    rows: Rows
    kind: Kind
    element: str | None = None
    arguments: dict[str, Any] = field(default_factory=lambda: {"partition_by": "id", "order_by": "t"})


def _shop() -> Rows:
    """Visitors who view, put into the cart, maybe leave, and buy: one step about every ten."""
    rows: Rows = []
    for visitor in range(8):
        for step, kind in enumerate(["view", "view", "cart", "view", "help", "buy", "view", "leave"]):
            price = 10 + 3 * visitor + step
            rows.append({"id": visitor, "t": visitor + 10 * step, "kind": kind, "price": price, "note": None})
    return rows


def _with_times(rows: Rows, start: datetime, unit: timedelta) -> Rows:
    return [{**row, "t": start + row["t"] * unit} for row in rows]


def _is(kind: str) -> str:
    return f"kind = '{kind}'"


VIEW = Pattern.begin("view").where(_is("view"))
CART_BUY = Pattern.begin("cart").where(_is("cart")).followed_by("buy").where(_is("buy"))
SHOP = _shop()
NOON = datetime(2026, 3, 1, 12)


def _letters(text: str, **more: list[Any]) -> Rows:
    rows: Rows = [{"id": 1, "t": place, "kind": letter} for place, letter in enumerate(text)]
    for name, values in more.items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return rows


A = Pattern.begin("a").where(_is("a"))

MISTAKES = [
    Mistake(
        "wrong case",
        Pattern.begin("cart").where(_is("Cart")).followed_by("buy").where(_is("buy")).within(100),
        SHOP,
        Kind.CASE,
        "cart",
    ),
    Mistake(
        "a blank after the value",
        CART_BUY.within(100),
        [{**row, "kind": row["kind"].replace("buy", "buy ")} for row in SHOP],
        Kind.CASE,
        "buy",
    ),
    Mistake(
        "a value that never occurs",
        Pattern.begin("cart").where(_is("cart")).followed_by("pay").where(_is("payment")).within(100),
        SHOP,
        Kind.VALUE,
        "pay",
    ),
    Mistake(
        "a typing error in an IN list",
        Pattern.begin("start").where("kind IN ('viewed', 'carted')").followed_by("buy").where(_is("buy")).within(100),
        SHOP,
        Kind.VALUE,
        "start",
    ),
    Mistake(
        "a limit that nothing reaches",
        Pattern.begin("cart").where("price > 1000").followed_by("buy").where(_is("buy")).within(100),
        SHOP,
        Kind.NEVER,
        "cart",
    ),
    Mistake(
        "two parts that are never true together",
        Pattern.begin("cart").where("kind = 'cart' AND price > 35").followed_by("buy").where(_is("buy")).within(100),
        SHOP,
        Kind.NEVER_TOGETHER,
        "cart",
    ),
    Mistake(
        "a column that is NULL",
        CART_BUY.where("note <> 'test'").within(100),
        SHOP,
        Kind.NULL,
        "buy",
    ),
    Mistake(
        "a comparison with NULL",
        Pattern.begin("cart").where("kind = 'cart' AND note = NULL").followed_by("buy").where(_is("buy")).within(100),
        SHOP,
        Kind.NULL,
        "cart",
    ),
    Mistake(
        "NULL in an earlier event",
        A.followed_by("b").where("kind = 'b' AND price > a.price").within(9),
        _letters("abab", price=[None, 5, None, 7]),
        Kind.NULL,
        "b",
    ),
    Mistake(
        "wrong key",
        CART_BUY.within(100),
        [{**row, "event": number} for number, row in enumerate(SHOP)],
        Kind.KEY,
        arguments={"partition_by": "event", "order_by": "t"},
    ),
    Mistake(
        "keys that are written in two ways",
        CART_BUY.within(100),
        [{**row, "id": f"v{row['id']}" if row["kind"] == "buy" else f"V{row['id']}"} for row in SHOP],
        Kind.KEY,
    ),
    Mistake(
        "window in seconds, times in milliseconds",
        CART_BUY.within(60),
        [{**row, "t": 1_790_000_000_000 + 1_000 * row["t"]} for row in SHOP],
        Kind.UNIT,
    ),
    Mistake(
        "window too short",
        CART_BUY.within("25 minutes"),
        _with_times(SHOP, NOON, timedelta(minutes=1)),
        Kind.WINDOW,
    ),
    Mistake(
        "count window too short",
        CART_BUY.within(events=3),
        SHOP,
        Kind.WINDOW,
    ),
    Mistake(
        "window since the previous event too short",
        CART_BUY.within(20, since="previous").within(100),
        SHOP,
        Kind.WINDOW,
        "buy",
    ),
    Mistake(
        "strict instead of relaxed",
        Pattern.begin("cart").where(_is("cart")).next("buy").where(_is("buy")).within(100),
        SHOP,
        Kind.STRICT,
        "buy",
    ),
    Mistake(
        "consecutive loop with other events between",
        VIEW.times(3).consecutive().followed_by("buy").where(_is("buy")).within(200),
        SHOP,
        Kind.STRICT,
        "view",
    ),
    Mistake(
        "not too broad",
        Pattern.begin("cart").where(_is("cart")).not_followed_by("other").where("kind <> 'buy'")
        .followed_by("buy").where(_is("buy")).within(100),
        SHOP,
        Kind.NOT,
        "other",
    ),
    Mistake(
        "a not at the end that is always violated",
        VIEW.followed_by("buy").where(_is("buy")).not_followed_by("more").where("price > 0").within(100),
        SHOP,
        Kind.NOT,
        "more",
    ),
    Mistake(
        "elements in the wrong order",
        Pattern.begin("buy").where(_is("buy")).followed_by("cart").where(_is("cart")).within(100),
        SHOP,
        Kind.ORDER,
    ),
    Mistake(
        "rows that are not in the order of their times",
        CART_BUY.within(events=20),
        sorted(SHOP, key=lambda row: (row["id"], -row["t"])),
        Kind.TIME_ORDER,
        arguments={"partition_by": "id"},
    ),
    Mistake(
        "ordered by the wrong column",
        CART_BUY.within(10_000),
        [{**row, "read": -row["t"]} for row in SHOP],
        Kind.TIME_ORDER,
        arguments={"partition_by": "id", "order_by": "read"},
    ),
    Mistake(
        "condition on an earlier event that is never true",
        CART_BUY.where("price > 2 * cart.price").within(100),
        SHOP,
        Kind.CONDITION,
        "buy",
    ),
    Mistake(
        "greedy loop eats what should follow",
        Pattern.begin("any").where("price > 0").one_or_more().greedy().followed_by("leave").where(_is("leave"))
        .within(500),
        SHOP,
        Kind.GREEDY,
        "any",
    ),
    Mistake(
        "an until that is true of the loop's own events",
        Pattern.begin("cart").where(_is("cart")).followed_by("step").where("price > 0").times_or_more(2)
        .until("kind IN ('view', 'help')").followed_by("leave").where(_is("leave")).within(500),
        SHOP,
        Kind.UNTIL,
        "step",
    ),
    Mistake(
        "more repetitions than there are",
        VIEW.times(6).followed_by("leave").where(_is("leave")).within(500),
        SHOP,
        Kind.LOOP,
        "view",
    ),
    Mistake(
        "having that is never true",
        VIEW.times(2, 4).having("SUM(view.price) > 1000").followed_by("buy").where(_is("buy")).within(500),
        SHOP,
        Kind.HAVING,
        "view",
    ),
    Mistake(
        "skip strategy drops an overlapping match",
        A.followed_by("b").where(_is("b")).within(9).skip(skip.past_last_event),
        _letters("aabab"),
        Kind.SKIP,
    ),
    Mistake(
        "too many matches for want of a skip strategy",
        Pattern.begin("any").where("price > 0").one_or_more().followed_by("leave").where(_is("leave")).within(500),
        SHOP,
        Kind.TOO_MANY,
    ),
    Mistake(
        "a not in the wrong case forbids nothing",
        VIEW.not_followed_by("help").where(_is("Help")).followed_by("buy").where(_is("buy")).within(100),
        SHOP,
        Kind.CASE,
        "help",
    ),
    Mistake(
        "not before is always violated",
        Pattern.not_before("seen").where("price > 0").begin("cart").where(_is("cart"))
        .followed_by("buy").where(_is("buy")).within(500),
        SHOP,
        Kind.NOT_BEFORE,
        "seen",
    ),
    Mistake(
        "strict, and the condition on the earlier event is false",
        A.next("b").where("kind = 'b' AND price > 3 * a.price").within(9),
        _letters("abcab", price=[5, 6, 1, 4, 7]),
        Kind.CONDITION,
        "b",
    ),
]  # fmt: skip
