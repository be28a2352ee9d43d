"""What people write in Esper, Siddhi and ksqlDB, and ask of Splunk and Azure."""

from __future__ import annotations

from datetime import datetime

from use_cases.case import UseCase, rows

from cepheid import Pattern, all_of, one_of, skip

FOR_EVER = 10**12


def kind(name: str) -> Pattern:
    return Pattern.begin(name).where(f"k = '{name}'")


CASES = (
    UseCase(
        "P1",
        "a terminal falls silent for 65 seconds; after an alarm none for five minutes",
        Pattern.begin("last").where("k = 'status'").not_followed_by("s").where("k = 'status'").within(65).once_per(300),
        rows("term t k", "T1 0 status; T1 60 status; T1 200 status; T1 290 status; T1 380 status; T1 900 status"),
        "T1: last@60 | T1: last@380 | T1: last@900",
        by="term",
    ),
    UseCase(
        "P2",
        "a tyre blows, the bike crashes, the driver leaves the seat; once for each bike",
        kind("blow")
        .followed_by("crash")
        .where("k = 'crash'")
        .followed_by("left")
        .where("k = 'left'")
        .within(3)
        .once_per(FOR_EVER),
        rows(
            "bike t k", "1 1 blow; 1 2 crash; 1 3 left; 1 10 blow; 1 11 crash; 1 12 left; 2 1 blow; 2 2 crash; 2 5 left"
        ),
        "1: blow@1 crash@2 left@3",
        by="bike",
    ),
    UseCase(
        "P3",
        "a slow answer or a failed one, and which of them it was",
        Pattern.begin(
            one_of(Pattern.begin("slow").where("latency > 20000"), Pattern.begin("failed").where("ok = 0"))
        ).skip(skip.to_next),
        rows("t latency ok", "1 100 1; 2 30000 1; 3 50 0; 4 40000 0"),
        "slow@2 failed@- | slow@- failed@3 | slow@4 failed@-",
    ),
    UseCase(
        "P4",
        "a large trade, half an hour without another, and then another",
        Pattern.begin("a")
        .where("vol >= 10000")
        .not_followed_by("early")
        .where("vol >= 10000 AND t < a.t + 1800")
        .followed_by("b")
        .where("vol >= 10000 AND t >= a.t + 1800"),
        rows("sym t vol", "X 0 20000; X 600 500; X 2000 15000; Y 0 20000; Y 900 20000; Y 3000 20000"),
        "X: a@0 b@2000 | Y: a@900 b@3000",
        by="sym",
    ),
    UseCase(
        "P5",
        "two conditions met by two events, in either order",
        Pattern.begin(all_of(Pattern.begin("dear").where("price > 10"), Pattern.begin("many").where("qty > 2"))).within(
            100
        ),
        rows("id t price qty", "1 1 20 0; 1 2 0 5; 2 1 0 5; 2 2 20 0; 3 1 20 5"),
        "1: dear@1 many@2 | 2: dear@2 many@1",
        by="id",
    ),
    UseCase(
        "P6",
        "all readings between on and off",
        kind("on")
        .followed_by("r")
        .where("k = 'r'")
        .one_or_more()
        .greedy()
        .optional()
        .followed_by("off")
        .where("k = 'off'")
        .skip(skip.past_last_event),
        rows("t k v", "1 r 5; 2 on 0; 3 r 10; 4 x 0; 5 r 20; 6 off 0; 7 r 9; 8 on 0; 9 off 0"),
        "on@2 r@3,5 off@6 | on@8 r@- off@9",
    ),
    UseCase(
        "P7",
        "at 16 hours of each day: no report since midnight",
        Pattern.not_before("r").where("k = 'report'").begin("clock").where("k = 'tick'").within(16),
        rows("t k", "10 report; 16 tick; 40 tick; 63 report; 64 tick"),
        "clock@40",
        awkward="nothing starts at a time of the clock: a row for each day and key is mixed into the events",
    ),
    UseCase(
        "P8",
        "more than half of four calls in a row fail",
        Pattern.begin("c").times(4).consecutive().having("SUM(c.err) > 2").skip(skip.past_last_event),
        rows("svc t err", "a 1 0; a 2 1; a 3 1; a 4 0; a 5 1; a 6 0; b 1 1; b 2 0; b 3 0; b 4 0"),
        "a: c@2,3,4,5",
        by="svc",
    ),
    UseCase(
        "D1",
        "a purchase, and two or more repairs within 60 days: two tables",
        Pattern.begin("buy").followed_by("repair").times(2).within("60 days").skip(skip.past_last_event),
        {
            "buy": [{"cust": who, "ts": datetime(2025, 1, 1)} for who in "ab"],
            "repair": [
                {"cust": "a", "ts": datetime(2025, 1, 11), "part": "door"},
                {"cust": "a", "ts": datetime(2025, 1, 31), "part": "lamp"},
                {"cust": "b", "ts": datetime(2025, 3, 1), "part": "door"},
                {"cust": "b", "ts": datetime(2025, 3, 2), "part": "door"},
            ],
        },
        "a: parts=2 last=lamp",
        by="cust",
        order="ts",
        more={"measures": {"parts": "COUNT(repair.part)", "last": "LAST(repair.part)"}},
        measures=("parts", "last"),
    ),
    UseCase(
        "D2",
        "something is supplied, and not used for a quarter of an hour",
        Pattern.begin("s")
        .where("k = 'supply'")
        .not_followed_by("c")
        .where("k = 'use' AND amount = s.amount")
        .within(900),
        rows("name t k amount", "flour 0 supply 10; flour 100 use 5; flour 200 supply 7; flour 300 use 7"),
        "flour: s@0",
        by="name",
    ),
    UseCase(
        "D3",
        "means of two readings at a time, and one that is 5 higher than the one before",
        Pattern.begin("a")
        .times(2)
        .consecutive()
        .next("b")
        .next("c")
        .where("(b.temp + temp) / 2 > AVG(a.temp) + 5")
        .skip(skip.to_first("b")),
        rows("dev t temp", "d 1 20; d 2 22; d 3 30; d 4 32; d 5 31; d 6 33"),
        "d: a@1,2 b@3 c@4",
        by="dev",
        awkward="blocks begin at every event: those that are aligned are made by a GROUP BY before",
    ),
    UseCase(
        "D4",
        "two or more A within a minute are one signal, not several",
        Pattern.begin("a").where("k = 'A'").times_or_more(2).whole().within(60).skip(skip.past_last_event),
        rows("t k", "1 A; 5 A; 9 A; 20 A; 30 A; 40 A; 200 A; 210 A; 300 A"),
        "a@1,5,9,20,30,40 | a@200,210",
    ),
    UseCase(
        "D5",
        "the heating goes on and off, and it is never cold in between",
        kind("on").not_followed_by("cold").where("k = 'temp' AND v < 12").followed_by("off").where("k = 'off'"),
        rows("room t k v", "1 1 on 0; 1 2 temp 15; 1 3 off 0; 2 1 on 0; 2 2 temp 10; 2 3 off 0"),
        "1: on@1 off@3",
        by="room",
    ),
    UseCase(
        "D6",
        "three logins and a forgotten password, in any order within an hour",
        Pattern.begin(
            all_of(*(Pattern.begin(name).where("k = 'login'") for name in ("l1", "l2", "l3")), kind("forgot"))
        )
        .within(3600)
        .skip(skip.past_last_event),
        rows(
            "user t k",
            "u 1 login; u 2 forgot; u 3 login; u 4 forgot; u 5 login; v 1 login; v 2 login; v 3 login; v 4 login",
        ),
        "u: l1@1 l2@3 l3@5 forgot@2",
        by="user",
    ),
    UseCase(
        "D7",
        "a login, and the very next event is an invitation",
        kind("login").next("invite").where("k = 'invite'").within(86400),
        rows("user t k", "u 1 login; u 5 invite; v 1 login; v 2 view; v 3 invite"),
        "u: login@1 invite@5",
        by="user",
    ),
    UseCase(
        "D8",
        "the heating is on, and then the key is removed or it is turned off, whichever comes first",
        kind("on").followed_by(one_of(kind("removed"), kind("off"))),
        rows("room t k", "1 1 on; 1 5 removed; 1 6 off; 2 1 on; 2 3 off; 2 4 removed"),
        "1: on@1 removed@5 off@- | 2: on@1 removed@- off@3",
        by="room",
    ),
    UseCase(
        "K1",
        "transactions from login to logout, with short breaks and not too long, unfinished ones as well",
        kind("login")
        .next("mid")
        .where("k NOT IN ('login', 'logout')")
        .one_or_more()
        .optional()
        .consecutive()
        .greedy()
        .within(300, since="previous")
        .next("logout")
        .where("k = 'logout'")
        .within(300, since="previous")
        .within(1800),
        rows("user t k", "a 0 login; a 100 view; a 200 buy; a 250 logout; b 0 login; b 100 view; b 900 logout"),
        "a: login@0 mid@100,200 logout@250 | timeout b: login@0 mid@100 logout@-",
        by="user",
        timeouts=True,
    ),
    UseCase(
        "K2",
        "a car of another make than the one before, not more than a minute ago",
        Pattern.begin("p").next("c").where("make <> p.make").within(60),
        rows("t make", "1 A; 2 A; 3 B; 4 A; 64 C; 70 D"),
        "p@2 c@3 | p@3 c@4 | p@64 c@70",
    ),
)
