"""Funnels and sessions of product analytics, and two rules of card fraud."""

from __future__ import annotations

from datetime import datetime

from use_cases.case import UseCase, rows

from cepheid import Pattern, skip

STEPS = ("login", "visit", "cart", "paid")
NEXT_STEP = " OR ".join(f"(e = '{step}' AND COUNT(s.*) = {number})" for number, step in enumerate(STEPS))
"""The k-th event of the loop is the k-th step."""
REPEATED = "(e = 'A' AND COUNT(s.*) >= 1) OR (e = 'B' AND COUNT(s.*) >= 2) OR (e = 'C' AND COUNT(s.*) >= 3)"

CASES = (
    UseCase(
        "C1",
        "how far each attempt came: login, visit, cart, paid within an hour",
        Pattern.begin("s").where(NEXT_STEP).times(1, 4).whole().within(3601).skip(skip.past_last_event),
        rows(
            "user t e",
            "1 0 login; 1 60 visit; 1 120 cart; 1 200 paid; 2 0 login; 2 60 visit; 2 4000 cart; 3 0 visit; "
            "4 0 login; 4 10 cart",
        ),
        "1: level=4 last=paid | 2: level=2 last=visit | 4: level=1 last=login",
        by="user",
        more={"measures": {"level": "COUNT(s.*)", "last": "LAST(s.e)"}},
        measures=("level", "last"),
    ),
    UseCase(
        "C2",
        "a purchase within an hour of the sign-up, the full hour included",
        Pattern.begin("s").where("e = 'signup'").followed_by("p").where("e = 'purchase'").within(3601),
        rows("user t e", "1 0 signup; 1 3600 purchase; 2 0 signup; 2 3601 purchase"),
        "1: s@0 p@3600",
        by="user",
        awkward="a window excludes its end: to include it, it is a second longer",
    ),
    UseCase(
        "C3",
        "two events more than half an hour apart",
        Pattern.begin("a").where("n = 1").followed_by("b").where("n = 2 AND t - a.t > 1800"),
        rows("t n", "0 1; 100 2; 1900 2"),
        "a@0 b@1900",
    ),
    UseCase(
        "C4",
        "a search and a bookmark in any order, without a refund in between",
        Pattern.begin("x")
        .where("e IN ('search', 'bookmark')")
        .one_or_more()
        .until("e = 'refund'")
        .having("COUNT(DISTINCT x.e) = 2")
        .within(1000)
        .skip(skip.past_last_event),
        rows(
            "user t e",
            "1 1 bookmark; 1 2 search; 2 1 search; 2 2 refund; 2 3 bookmark; 3 1 search; 3 2 search; 3 3 bookmark",
        ),
        "1: x@1,2 | 3: x@1,2,3",
        by="user",
    ),
    UseCase(
        "C5",
        "how far A B C D came, where a step that is repeated ends it",
        Pattern.begin("s")
        .where(
            "(e = 'A' AND COUNT(s.*) = 0) OR (e = 'B' AND COUNT(s.*) = 1) OR (e = 'C' AND COUNT(s.*) = 2) "
            "OR (e = 'D' AND COUNT(s.*) = 3)"
        )
        .one_or_more()
        .until(REPEATED)
        .whole()
        .within(100)
        .skip(skip.past_last_event),
        rows("u t e", "1 1 A; 1 2 B; 1 3 C; 1 4 B; 1 5 D; 2 1 A; 2 2 B; 2 3 C; 2 9 D"),
        "1: s@1,2,3 | 2: s@1,2,3,9",
        by="u",
    ),
    UseCase(
        "C6",
        "a session ends after an hour without a click, or two hours after it began",
        Pattern.begin("s").one_or_more(within=60).consecutive().whole().within(120).skip(skip.past_last_event),
        rows("user t", "u1 0; u1 70; u1 120; u1 170; u1 220; u1 270; u1 320; u1 350; u2 0; u2 1440"),
        "u1: s@0 | u1: s@70,120,170 | u1: s@220,270,320 | u1: s@350 | u2: s@0 | u2: s@1440",
        by="user",
    ),
    UseCase(
        "C7",
        "what is won until a deposit closes the session",
        Pattern.begin("w")
        .where("deposit = 0")
        .one_or_more()
        .greedy()
        .followed_by("d")
        .where("deposit = 1")
        .skip(skip.past_last_event),
        rows("s t win deposit", "1 1 5 0; 1 2 7 0; 1 3 0 1; 1 4 9 0; 2 1 4 0"),
        "1: won=12",
        by="s",
        more={"measures": {"won": "SUM(w.win)"}},
        measures=("won",),
    ),
    UseCase(
        "T1",
        "a payment at night, five standard deviations above the card's earlier ones",
        Pattern.begin("h")
        .times_or_more(3)
        .consecutive()
        .next("x")
        .where("HOUR(ts) IN (2, 3) AND amount > AVG(h.amount) + 5 * STDDEV(h.amount)")
        .skip(skip.past_last_event),
        [
            {"card": "c", "ts": datetime(2025, 1, day, hour), "amount": amount}
            for day, hour, amount in ((1, 12, 10.0), (2, 12, 12.0), (3, 12, 11.0), (4, 12, 13.0), (9, 3, 500.0))
        ],
        "c: history=4 amount=500.0",
        by="card",
        order="ts",
        more={"measures": {"history": "COUNT(h.*)", "amount": "x.amount"}},
        measures=("history", "amount"),
    ),
    UseCase(
        "T2",
        "payments in three different countries within ten minutes",
        Pattern.begin("p").one_or_more().having("COUNT(DISTINCT p.land) >= 3").within(600).skip(skip.past_last_event),
        rows("card t land", "c 1 DE; c 60 DE; c 100 FR; c 200 FR; c 400 IT; d 1 DE; d 2 FR; d 3 DE"),
        "c: p@1,60,100,200,400",
        by="card",
    ),
)
