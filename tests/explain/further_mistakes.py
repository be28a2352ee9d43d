"""Further mistakes, of other kinds than the first ones: types, keys, duplicates, ties, exchanged bounds."""

from __future__ import annotations

from datetime import timedelta
from math import nan

from explain.mistakes import CART_BUY, NOON, SHOP, VIEW, A, Mistake, _is, _letters, _with_times

from cepheid import Pattern, all_of, skip
from cepheid.explain.why.model import Kind

FURTHER: list[Mistake] = [
    Mistake(
        "a number written as text with a leading zero",
        A.followed_by("b").where("code = '7'").within(9),
        _letters("abab", code=["007", "007", "008", "007"]),
        Kind.VALUE,
        "b",
    ),
    Mistake(
        "the key of some events is NULL",
        CART_BUY.within(100),
        [{**row, "id": None if row["kind"] == "buy" else row["id"]} for row in SHOP],
        Kind.KEY,
    ),
    Mistake(
        "milliseconds read as seconds",
        CART_BUY.within("1 hour"),
        [{**row, "t": NOON + timedelta(seconds=row["t"] * 60_000)} for row in SHOP],
        Kind.UNIT,
    ),
    Mistake(
        "a comparison with NaN",
        A.followed_by("b").where("kind = 'b' AND price < 100").within(9),
        _letters("abab", price=[1.0, nan, 2.0, nan]),
        Kind.NEVER_TOGETHER,
        "b",
    ),
    Mistake(
        "every event is there twice",
        A.next("b").where(_is("b")).next("c").where(_is("c")).within(90),
        _letters("aabbccaabbcc"),
        Kind.STRICT,
    ),
    Mistake(
        "two of three elements exchanged",
        Pattern.begin("cart")
        .where(_is("cart"))
        .followed_by("leave")
        .where(_is("leave"))
        .followed_by("buy")
        .where(_is("buy"))
        .within(100),
        SHOP,
        Kind.ORDER,
    ),
    Mistake(
        "a loop at the end that asks for more than there are",
        A.followed_by("b").where(_is("b")).times_or_more(7).within(90),
        _letters("abbbabbb"),
        Kind.LOOP,
        "b",
    ),
    Mistake(
        "an until that is true at once",
        A.followed_by("b")
        .where(_is("b"))
        .one_or_more()
        .until("kind = 'b'")
        .followed_by("c")
        .where(_is("c"))
        .within(90),
        _letters("abbcabbc"),
        Kind.UNTIL,
        "b",
    ),
    Mistake(
        "a window since the wrong element",
        A.followed_by("b").where(_is("b")).followed_by("c").where(_is("c")).within(3, since="a").within(90),
        _letters("axbxxcaxbxxc"),
        Kind.WINDOW,
        "c",
    ),
    Mistake(
        "once_per drops matches",
        A.followed_by("b").where(_is("b")).within(9).once_per(100),
        _letters("ababab"),
        Kind.ONCE_PER,
    ),
    Mistake(
        "having over distinct values",
        A.followed_by("b")
        .where(_is("b"))
        .times_or_more(2)
        .having("COUNT(DISTINCT b.price) > 3")
        .followed_by("c")
        .where(_is("c"))
        .within(90),
        _letters("abbbcabbbc", price=[1, 2, 2, 2, 1, 1, 3, 3, 3, 1]),
        Kind.HAVING,
        "b",
    ),
    Mistake(
        "a whole loop takes what should follow",
        A.followed_by("b").where("kind <> 'a'").one_or_more().whole().followed_by("c").where(_is("c")).within(90),
        _letters("abbcabbc"),
        Kind.WHOLE,
        "b",
    ),
    Mistake(
        "all of several, one of which never comes",
        Pattern.begin(
            all_of(
                Pattern.begin("x").where(_is("view")),
                Pattern.begin("y").where(_is("cart")),
                Pattern.begin("z").where(_is("pay")),
            )
        ).within(100),
        SHOP,
        Kind.VALUE,
        "z",
    ),
    Mistake(
        "skipping past the last event eats overlapping loops",
        Pattern.begin("v")
        .where(_is("a"))
        .times(2)
        .followed_by("b")
        .where(_is("b"))
        .within(90)
        .skip(skip.past_last_event),
        _letters("aaabab"),
        Kind.SKIP,
    ),
    Mistake(
        "a count window over three elements",
        VIEW.followed_by("cart").where(_is("cart")).followed_by("buy").where(_is("buy")).within(events=3),
        SHOP,
        Kind.WINDOW,
    ),
    Mistake(
        "one event cannot serve two elements",
        Pattern.begin("dear").where("price > 5").followed_by("last").where("kind = 'b' AND price > 5").within(9),
        _letters("aab", price=[1, 2, 9]),
        Kind.ORDER,
    ),
    Mistake(
        "events of one moment in the wrong order",
        A.followed_by("b").where(_is("b")).within(90),
        [{"id": i, "t": 5, "kind": k} for i in range(3) for k in "ba"],
        Kind.ORDER,
    ),
    Mistake(
        "rows without a time",
        CART_BUY.within(100),
        [{**row, "t": None if row["kind"] != "view" else row["t"]} for row in SHOP],
        Kind.REJECTED,
        None,
        {"partition_by": "id", "order_by": "t", "nulls": "drop"},
    ),
    Mistake(
        "a key that is too fine",
        CART_BUY.within(100),
        [{**row, "day": f"d{row['t'] // 20}"} for row in SHOP],
        Kind.KEY,
        None,
        {"partition_by": ["id", "day"], "order_by": "t"},
    ),
    Mistake(
        "the wrong sign of a comparison with the event before",
        CART_BUY.where("price < cart.price").within(100),
        SHOP,
        Kind.CONDITION,
        "buy",
    ),
    Mistake(
        "a gap of a loop that is too short",
        Pattern.begin("v")
        .where(_is("view"))
        .times(3)
        .within(9, since="previous")
        .followed_by("leave")
        .where(_is("leave"))
        .within(500),
        SHOP,
        Kind.WINDOW,
        "v",
    ),
    Mistake(
        "AND instead of OR",
        Pattern.begin("x").where("kind = 'cart' AND kind = 'view'").followed_by("buy").where(_is("buy")).within(100),
        SHOP,
        Kind.NEVER_TOGETHER,
        "x",
    ),
    Mistake(
        "bounds exchanged",
        Pattern.begin("x").where("price BETWEEN 50 AND 10").followed_by("buy").where(_is("buy")).within(100),
        SHOP,
        Kind.NEVER,
        "x",
    ),
    Mistake(
        "LIKE in another case",
        Pattern.begin("x").where("kind LIKE 'Car%'").followed_by("buy").where(_is("buy")).within(100),
        SHOP,
        Kind.CASE,
        "x",
    ),
    Mistake(
        "LIKE without a sign for the rest",
        Pattern.begin("x").where("kind LIKE 'car'").followed_by("buy").where(_is("buy")).within(100),
        SHOP,
        Kind.NEVER,
        "x",
    ),
    Mistake(
        "a column of yes and no that is always no",
        Pattern.begin("x").where("paid").followed_by("buy").where(_is("buy")).within(100),
        [{**r, "paid": False} for r in SHOP],
        Kind.NEVER,
        "x",
    ),
    Mistake(
        "a day in another year",
        Pattern.begin("x")
        .where("t > TIMESTAMP '2027-01-01 00:00:00'")
        .followed_by("buy")
        .where(_is("buy"))
        .within("1 day"),
        _with_times(SHOP, NOON, timedelta(minutes=1)),
        Kind.NEVER,
        "x",
    ),
    Mistake(
        "another kind of dash",
        Pattern.begin("x").where("kind = 'check-out'").followed_by("b").where(_is("b")).within(9),
        [{"id": 1, "t": 1, "kind": "check\u2013out"}, {"id": 1, "t": 2, "kind": "b"}],
        Kind.VALUE,
        "x",
    ),
    Mistake(
        "a loop that ends its own run",
        A.next("b")
        .where(_is("b"))
        .times_or_more(2)
        .consecutive()
        .not_next("more")
        .where(_is("b"))
        .followed_by("c")
        .where(_is("c"))
        .within(90),
        _letters("abbbcabbc"),
        Kind.OWN_RUN,
    ),
]
