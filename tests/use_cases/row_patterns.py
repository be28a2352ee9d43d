"""What people write with MATCH_RECOGNIZE; these are patterns of events, the SQL clause itself has tests of its own."""

from __future__ import annotations

from use_cases.case import UseCase, moments, rows

from cepheid import Pattern, all_of, skip

PRICES = rows("t price", "1 7; 2 9; 3 10; 4 5; 5 10; 6 7; 7 14")
CHEAP = Pattern.begin("a").where("SUM(a.price) + price < 30").one_or_more().consecutive().greedy().next("c")


def kind(name: str, column: str) -> Pattern:
    return Pattern.begin(name).where(f"{column} = '{name}'")


CASES = (
    UseCase(
        "M1",
        "a price stays above a level and falls by more than 10, all within an hour, the full hour included",
        Pattern.begin("a")
        .next("b")
        .where("price > a.price - 10")
        .one_or_more()
        .optional()
        .consecutive()
        .greedy()
        .next("c")
        .where("price < a.price - 10")
        .within("1 hour 1 us")
        .skip(skip.past_last_event),
        moments(
            "ts price",
            "10:00 20; 10:20 17; 11:00 11; 11:20 14; 11:40 9; 12:00 15; 12:20 14; 12:40 24; 13:00 1; 13:20 19",
        ),
        "a@12:00 b@12:20,12:40 c@13:00",
        order="ts",
        awkward="a window excludes its end: to include it, it is a microsecond longer",
    ),
    UseCase(
        "M2", "buy while the total is under 30", CHEAP.skip(skip.past_last_event), PRICES, "a@1,2,3 c@4 | a@5,6 c@7"
    ),
    UseCase(
        "M3",
        "the same, looked for at every row",
        CHEAP.skip(skip.to_next),
        PRICES,
        "a@1,2,3 c@4 | a@2,3,4 c@5 | a@3,4,5 c@6 | a@4,5,6 c@7 | a@5,6 c@7",
    ),
    UseCase(
        "M4",
        "prices fall, and then rise as far as they go",
        Pattern.begin("a")
        .next("down")
        .where("price < COALESCE(LAST(down.price), a.price)")
        .one_or_more()
        .consecutive()
        .greedy()
        .next("up")
        .where("price > COALESCE(LAST(up.price), LAST(down.price))")
        .one_or_more()
        .consecutive()
        .whole()
        .skip(skip.past_last_event),
        rows("t price", "1 90; 2 80; 3 70; 4 75; 5 95; 6 60; 7 50; 8 55"),
        "a@1 down@2,3 up@4,5 | a@6 down@7 up@8",
    ),
    UseCase(
        "M5",
        "three small transfers within 30 days, and a very large one within 10 days of the last",
        Pattern.begin("x")
        .where("amount < 2000 AND (COUNT(x.*) = 0 OR t - FIRST(x.t) < 30)")
        .times_or_more(3)
        .greedy()
        .followed_by("y")
        .where("amount >= 1000000")
        .within(10, since="x")
        .skip(skip.past_last_event),
        rows(
            "acct t amount",
            "j 1 1000; j 5 1200; j 6 900000; j 12 1500; j 20 1000000; k 1 1000; k 5 1200; k 9 1500; k 20 1000000; "
            "l 1 100; l 20 100; l 32 100; l 33 2000000",
        ),
        "j: x@1,5,12 y@20",
        by="acct",
    ),
    UseCase(
        "M6",
        "the same, each small one to somebody else than the one before, and under 20,000 in all",
        Pattern.begin("x")
        .where("amount < 2000 AND (COUNT(x.*) = 0 OR (payee <> LAST(x.payee) AND t - FIRST(x.t) < 30))")
        .times_or_more(3)
        .greedy()
        .having("SUM(x.amount) < 20000")
        .followed_by("y")
        .where("amount >= 1000000")
        .within(10, since="x")
        .skip(skip.past_last_event),
        rows(
            "acct t amount payee",
            "j 1 1000 bob; j 5 1200 bob; j 6 1500 tim; j 8 1500 bob; j 15 1000000 tim; "
            "k 1 1000 bob; k 2 1000 bob; k 3 1000 bob; k 5 1000000 tim",
        ),
        "j: x@1,6,8 y@15",
        by="acct",
    ),
    UseCase(
        "M7",
        "sessions: everything of a user with less than 10 between two events",
        Pattern.begin("s").one_or_more(within=10).consecutive().whole().skip(skip.past_last_event),
        rows("user t", "u 1; u 5; u 12; u 22; u 30; v 7; v 40"),
        "u: s@1,5,12 | u: s@22,30 | v: s@7 | v: s@40",
        by="user",
    ),
    UseCase(
        "M8",
        "cars at a toll booth: Toyotas, perhaps Fords, and then all the Lexuses",
        Pattern.begin("toyota")
        .where("make = 'Toyota'")
        .one_or_more()
        .consecutive()
        .greedy()
        .next("ford")
        .where("make = 'Ford'")
        .one_or_more()
        .optional()
        .consecutive()
        .greedy()
        .next("lexus")
        .where("make = 'Lexus'")
        .one_or_more()
        .consecutive()
        .whole()
        .within(60)
        .skip(skip.to_next),
        rows(
            "booth t make",
            "1 1 Toyota; 1 5 Toyota; 1 9 Ford; 1 12 Lexus; 1 20 Lexus; 1 30 BMW; 2 1 Toyota; 2 2 BMW; 2 3 Lexus",
        ),
        "1: toyota@1,5 ford@9 lexus@12,20 | 1: toyota@5 ford@9 lexus@12,20",
        by="booth",
    ),
    UseCase(
        "M9",
        "an approval that takes more than an hour, or never ends",
        Pattern.begin("a")
        .where("stage = 'start'")
        .not_followed_by("end")
        .where("stage = 'end'")
        .within("60 minutes 1 us"),
        moments(
            "flow ts stage",
            "1 9:00 start; 1 9:30 sign; 1 10:00 end; 2 9:00 start; 2 9:59 sign; 2 10:30 end; 3 9:00 start",
        ),
        "2: a@09:00 | 3: a@09:00",
        by="flow",
        order="ts",
    ),
    UseCase(
        "M10",
        "a balance falls under 10, is spent further, and is topped up within an hour",
        Pattern.begin("low")
        .where("before >= 10 AND after < 10")
        .next("spent")
        .where("before >= after")
        .one_or_more()
        .optional()
        .consecutive()
        .next("up")
        .where("before < after")
        .within(3600)
        .skip(skip.past_last_event),
        rows("id t before after", "1 0 12 9; 1 10 9 5; 1 20 5 25; 2 0 30 8; 2 3600 8 20"),
        "1: low@0 spent@10 up@20",
        by="id",
    ),
    UseCase(
        "M11",
        "what happens to an order between placed and completed, as a count and the last state",
        Pattern.begin("a")
        .where("st = 'placed'")
        .next("b")
        .where("st NOT IN ('placed', 'completed')")
        .one_or_more()
        .optional()
        .consecutive()
        .next("c")
        .where("st = 'completed'")
        .within(3600)
        .skip(skip.past_last_event),
        rows("id t st", "1 0 placed; 1 10 packed; 1 20 sent; 1 30 completed; 2 0 placed; 2 5 placed; 2 9 completed"),
        "1: steps=2 first=packed last=sent | 2: steps=0 first=None last=None",
        by="id",
        more={"measures": {"steps": "COUNT(b.*)", "first": "FIRST(b.st)", "last": "LAST(b.st)"}},
        measures=("steps", "first", "last"),
    ),
    UseCase(
        "M12",
        "login and authentication of a session, in either order",
        Pattern.begin(all_of(kind("login", "ev"), kind("auth", "ev"))).within(600).skip(skip.past_last_event),
        rows("s t ev", "s1 1 login; s1 2 auth; s2 3 auth; s2 4 login; s3 1 login; s3 2 login; s3 3 auth"),
        "s1: login@1 auth@2 | s2: login@4 auth@3 | s3: login@1 auth@3",
        by="s",
    ),
    UseCase(
        "M13",
        "four calls of an interface by one identity within an hour, in any order",
        Pattern.begin(all_of(*(kind(name, "api") for name in "abcd"))).within(3600).skip(skip.past_last_event),
        rows("id t api", "x 1 b; x 2 a; x 3 b; x 4 z; x 5 d; x 6 c; y 1 a; y 2 a; y 3 b; y 4 c"),
        "x: a@2 b@1 c@6 d@5",
        by="id",
    ),
    UseCase(
        "M14",
        "a setting changes in a repository that is archived neither before nor after",
        Pattern.not_before("old")
        .where("k = 'archived'")
        .begin("a")
        .where("k = 'change'")
        .not_followed_by("new")
        .where("k = 'archived'")
        .within(100),
        rows(
            "repo t k",
            "1 10 change; 2 10 archived; 2 50 change; 3 10 change; 3 60 archived; 4 10 archived; 4 110 change",
        ),
        "1: a@10 | 4: a@110",
        by="repo",
    ),
    UseCase(
        "M15",
        "baskets with diapers and formula, with everything that was bought with them",
        Pattern.begin("x")
        .one_or_more()
        .consecutive()
        .whole()
        .having("MAX(CASE WHEN x.item = 'diaper' THEN 1 END) = 1 AND MAX(CASE WHEN x.item = 'formula' THEN 1 END) = 1")
        .skip(skip.past_last_event),
        rows("ord t item", "1 1 milk; 1 2 formula; 1 3 beer; 1 4 diaper; 2 1 milk; 2 2 formula"),
        "1: x@1,2,3,4",
        by="ord",
    ),
)
