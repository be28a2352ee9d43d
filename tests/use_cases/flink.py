"""What people have written, or asked how to write, with FlinkCEP."""

from __future__ import annotations

from typing import Any

from use_cases.case import UseCase, rows

from cepheid import Pattern, PatternSet, one_of, skip

A, B, C, D = (Pattern.begin(name).where(f"k = '{name.upper()}'") for name in "abcd")
FAILURES = Pattern.begin("a").where("act = 'fail'").times(2).within(60)
SHOP = rows("user item t act", "u 1 1 fail; u 2 2 fail; v 3 3 return; w 3 4 return; v 4 5 return")
RETURNS = Pattern.begin("a").where("act = 'return'").times(2).within(60)


def _alerts(found: Any) -> str:
    """Warnings are events again: the matches of one pattern are the rows of the next."""
    alert = Pattern.begin("w1").next("w2").where("mean > w1.mean").within(20)
    alerts = alert.match_events(found.to_arrow(), partition_by="rack", order_by="end_time")
    return " | ".join(f"{one['rack']}: w1@{one['w1']['end_time']} w2@{one['w2']['end_time']}" for one in alerts)


def _unmatched(found: Any) -> str:
    taken = [event["t"] for match in found for event in (match["a"], *match["b"], match["c"], match["d"])]
    return f"taken {taken}, left {[row['t'] for row in found.unmatched]}"


def _both_rules(found: Any) -> str:
    """The second rule has another key; a set runs both in one pass."""
    rules = PatternSet().add("failures", FAILURES, partition_by="user").add("returns", RETURNS, partition_by="item")
    both = rules.match_events(SHOP, order_by="t")
    assert len(both["failures"]) == len(found)
    lines = [f"failures of {one['user']}" for one in both["failures"]]
    return " | ".join([*lines, *(f"returns of {one['item']}" for one in both["returns"])])


CASES = (
    UseCase(
        "F1",
        "a fire that spreads: five hot sensors within a minute, each set alight by the one before",
        Pattern.begin("n1")
        .where("temp >= 50")
        .followed_by("n2")
        .where("temp >= 50 AND cause = n1.node")
        .followed_by("n3")
        .where("temp >= 50 AND cause = n2.node")
        .followed_by("n4")
        .where("temp >= 50 AND cause = n3.node")
        .followed_by("n5")
        .where("temp >= 50 AND cause = n4.node")
        .within(60),
        rows(
            "t node cause temp",
            "1 10 0 55; 5 11 10 60; 7 99 0 70; 9 12 11 40; 11 12 11 51; 20 13 12 52; 30 14 13 80; 70 15 14 90",
        ),
        "n1@1 n2@5 n3@11 n4@20 n5@30",
    ),
    UseCase(
        "F2",
        "an insider: rights raised, then at once a bulk export, then at once a share with outsiders",
        Pattern.begin("raised")
        .where("k = 'raise'")
        .next("export")
        .where("k = 'export'")
        .next("share")
        .where("k = 'share'")
        .within(1800),
        rows(
            "actor t k",
            "u 1 raise; u 5 export; u 9 share; v 1 raise; v 2 login; v 3 export; v 4 share; w 1 raise; "
            "w 2 export; w 1801 share",
        ),
        "u: raised@1 export@5 share@9",
        by="actor",
    ),
    UseCase(
        "F3",
        "a rush: checkouts of three different buyers within 30 seconds, one alarm for each first checkout",
        Pattern.begin("c")
        .where("k = 'checkout'")
        .one_or_more()
        .having("COUNT(DISTINCT c.buyer) >= 3")
        .within(30)
        .skip(skip.to_next),
        rows(
            "t k buyer",
            "1 checkout x; 3 checkout x; 5 checkout y; 6 view z; 9 checkout y; 12 checkout z; 40 checkout w",
        ),
        "c@1,3,5,9,12 | c@3,5,9,12",
    ),
    UseCase(
        "F4",
        "a price changes, and a basket is paid with the product at the old price",
        Pattern.begin("change")
        .where("k = 'price'")
        .not_followed_by("again")
        .where("k = 'price' AND product = change.product")
        .followed_by_any("paid")
        .where("k = 'paid' AND product = change.product AND price <> change.price"),
        rows(
            "t k product price basket",
            "1 price 4 24 -; 2 paid 8 44 2; 2 paid 4 158 2; 3 paid 4 24 3; 4 price 4 30 -; 5 paid 4 24 5",
        ),
        "change@1 paid@2 | change@4 paid@5",
        awkward="a condition cannot go through pairs inside an array: baskets become a row for each product first",
    ),
    UseCase(
        "F5",
        "two people are introduced, and nobody writes for half an hour",
        Pattern.begin("match").where("k = 'introduced'").not_followed_by("word").where("k = 'sent'").within(1800),
        rows("user t k", "a 0 introduced; a 900 sent; b 0 introduced; b 1800 sent; c 5 sent; c 10 introduced"),
        "b: match@0 | c: match@10",
        by="user",
    ),
    UseCase(
        "F6",
        "a product is looked at and put into the cart, but not paid",
        Pattern.begin("view")
        .where("k = 'view'")
        .followed_by("cart")
        .where("k = 'cart' AND product = view.product")
        .not_followed_by("paid")
        .where("k = 'paid' AND product = view.product")
        .within(30),
        rows("user t k product", "u 1 view 7; u 2 view 8; u 4 cart 8; u 6 cart 7; u 9 paid 7; u 20 paid 9"),
        "u: view@2 cart@4",
        by="user",
    ),
    UseCase(
        "F7",
        "spam: one message four times, with at most three others and less than five minutes in between",
        Pattern.begin("first")
        .next(
            Pattern.begin("others")
            .where("msg <> first.msg")
            .times(1, 3)
            .consecutive()
            .greedy()
            .optional()
            .next("again")
            .where("msg = first.msg AND t - COALESCE(LAST(again.t), first.t) < 300")
        )
        .times(3)
        .consecutive()
        .skip(skip.past_last_event),
        rows(
            "user t msg",
            "u 60 A; u 120 B; u 180 A; u 240 C; u 300 A; u 360 D; u 420 A; "
            "v 60 A; v 120 B; v 180 C; v 240 D; v 300 E; v 360 F; v 420 A; v 480 A; v 540 A",
        ),
        "u: first@60 others@120,240,360 again@180,300,420",
        by="user",
    ),
    UseCase(
        "F8",
        "impossible travel: two logons more than 100 km apart within ten minutes",
        Pattern.begin("here").followed_by("there").where("geo_km(lat, lon, here.lat, here.lon) > 100").within(600),
        rows("user t lat lon", "u 0 52.52 13.40; u 100 52.40 13.06; u 200 53.55 9.99; u 900 48.14 11.58"),
        "u: here@0 there@200 | u: here@100 there@200",
        by="user",
    ),
    UseCase(
        "F9",
        "a journey: each leg begins where the last one ended, until Z is reached",
        Pattern.begin("start")
        .where("origin = 'A'")
        .followed_by("leg")
        .where("origin = COALESCE(LAST(leg.dest), start.dest) AND dest <> 'Z'")
        .one_or_more()
        .greedy()
        .optional()
        .followed_by("arrival")
        .where("origin = COALESCE(LAST(leg.dest), start.dest) AND dest = 'Z'"),
        rows("t origin dest", "1 A B; 2 X Y; 3 B C; 4 C D; 5 B Q; 6 D Z; 7 A Z"),
        "start@1 leg@3,4 arrival@6",
    ),
    UseCase(
        "F10",
        "a state machine comes back to a state that it has had before",
        Pattern.begin("x")
        .one_or_more()
        .consecutive()
        .having("COUNT(DISTINCT x.s) < COUNT(x.*)")
        .skip(skip.past_last_event),
        rows("t s", "1 a; 2 b; 3 c; 4 b; 5 d"),
        "x@1,2,3,4",
    ),
    UseCase(
        "F11",
        "three views of a product and then something other than buying; the rule changes while the job runs",
        Pattern.begin("view")
        .where("action = 0")
        .times_or_more(3)
        .followed_by("end")
        .where("action <> 1")
        .skip(skip.past_last_event),
        rows(
            "id prod t action",
            "1 1 1 0; 1 1 2 0; 1 1 3 0; 1 1 4 2; 1 2 1 0; 1 2 2 0; 1 2 3 0; 1 2 4 1; 1 3 1 0; 1 3 2 0; "
            "1 3 3 0; 1 3 4 0",
        ),
        "1/1: view@1,2,3 end@4 | 1/3: view@1,2,3 end@4",
        by=["id", "prod"],
        awkward="a single changed pattern begins anew with a checkpoint of its own; partial matches are not kept",
    ),
    UseCase(
        "F12",
        "structuring: three or more transfers that come to 100 or more within five minutes",
        Pattern.begin("t_")
        .where("k = 'transfer'")
        .times_or_more(3)
        .having("SUM(t_.amount) >= 100")
        .within(300)
        .skip(skip.past_last_event),
        rows(
            "user t k amount",
            "u 1 transfer 10; u 50 transfer 20; u 100 transfer 30; u 200 transfer 45; u 290 transfer 90; "
            "w 1 transfer 60; w 100 transfer 50; x 1 transfer 40; x 200 transfer 40; x 310 transfer 40",
        ),
        "u: t_@1,50,100,200",
        by="user",
    ),
    UseCase(
        "F13",
        "four items in the cart within ten minutes, and nothing is bought",
        Pattern.begin("item")
        .where("k = 'cart'")
        .times(4)
        .not_followed_by("buy")
        .where("k = 'buy'")
        .within(600)
        .skip(skip.past_last_event),
        rows(
            "user t k",
            "u 1 cart; u 2 cart; u 3 cart; u 4 cart; u 5 cart; v 1 cart; v 2 cart; v 3 cart; v 4 cart; v 300 buy; "
            "w 1 cart; w 2 buy; w 3 cart; w 4 cart; w 5 cart",
        ),
        "u: item@1,2,3,4",
        by="user",
    ),
    UseCase(
        "F14",
        "a bike leaves its area and is not back within 15 minutes",
        Pattern.begin("inside")
        .where("area = 1")
        .next("out")
        .where("area = 0")
        .not_followed_by("back")
        .where("area = 1")
        .within(900, since="previous"),
        rows("bike t area", "b 0 1; b 10 0; b 100 0; b 1000 0; c 0 1; c 100 0; c 500 1"),
        "b: inside@0 out@10",
        by="bike",
    ),
    UseCase(
        "F15",
        "registered, authenticated within five minutes, then two large payments within an hour of the authentication",
        Pattern.begin("reg")
        .where("k = 'reg'")
        .followed_by("auth")
        .where("k = 'auth'")
        .within(300, since="previous")
        .followed_by("pay")
        .where("k = 'pay' AND amount > 1000")
        .times(2)
        .within(3600, since="auth"),
        rows(
            "acct t k amount",
            "a 0 reg 0; a 200 auth 0; a 1000 pay 2000; a 2000 pay 500; a 3700 pay 3000; b 0 reg 0; b 400 auth 0; "
            "b 500 pay 2000; b 600 pay 2000; c 0 reg 0; c 10 auth 0; c 20 pay 5000; c 3700 pay 5000",
        ),
        "a: reg@0 auth@200 pay@1000,3700",
        by="acct",
    ),
    UseCase(
        "F16",
        "two hot readings side by side are a warning, two warnings with a rising mean an alert",
        Pattern.begin("a").where("temp > 100").next("b").where("temp > 100").within(10),
        rows("rack t temp", "1 1 90; 1 3 101; 1 5 103; 1 7 110; 1 20 80; 2 1 105; 2 4 104; 2 7 101"),
        "1: w1@5 w2@7",
        by="rack",
        more={"measures": {"mean": "(a.temp + b.temp) / 2"}},
        further=_alerts,
    ),
    UseCase(
        "F17",
        "household 0, then 2, then 4 uses much power",
        Pattern.begin("h1")
        .where("hh = 0 AND v > 76")
        .followed_by_any("h2")
        .where("hh = 2 AND v > 76")
        .followed_by_any("h3")
        .where("hh = 4 AND v > 76")
        .within(100)
        .skip(skip.past_last_event),
        rows("t hh v", "1 0 80; 2 2 70; 3 2 77; 4 4 90; 5 0 99; 6 4 99; 7 2 99; 8 4 77"),
        "h1@1 h2@3 h3@4 | h1@5 h2@7 h3@8",
    ),
    UseCase(
        "F18",
        "a rate falls by more than 30 % within five minutes",
        Pattern.begin("base")
        .where("ctr > 0")
        .followed_by("drop")
        .where("ctr < base.ctr * 0.7")
        .within(300)
        .skip(skip.past_last_event),
        rows("t ctr", "0 0.05; 60 0.045; 120 0.03; 180 0.029; 900 0.01"),
        "base@0 drop@120",
    ),
    UseCase(
        "F19",
        "strictly a b+ c d, and which events were in no match?",
        A.next("b").where("k = 'B'").one_or_more().consecutive().next("c").where("k = 'C'").next("d").where("k = 'D'"),
        rows("t k", "1 A; 2 B; 3 B; 4 C; 5 D; 6 E; 7 A; 8 B; 9 D; 10 C; 11 E"),
        "taken [1, 2, 3, 4, 5], left [6, 7, 8, 9, 10, 11]",
        further=_unmatched,
    ),
    UseCase(
        "F20",
        "a job starts and ends, and does not fail in between",
        Pattern.begin("s")
        .where("k = 'start'")
        .not_followed_by("f")
        .where("k = 'fail'")
        .followed_by("e")
        .where("k = 'end'"),
        rows("job t k", "1 1 start; 1 2 work; 1 3 end; 2 1 start; 2 2 fail; 2 3 end"),
        "1: s@1 e@3",
        by="job",
    ),
    UseCase(
        "F21",
        "a threshold that depends on the kind of alarm: two scans, or four probes",
        Pattern.begin("e")
        .where("COUNT(e.*) = 0 OR k = FIRST(e.k)")
        .one_or_more()
        .having("COUNT(e.*) >= CASE WHEN FIRST(e.k) = 'scan' THEN 2 ELSE 4 END")
        .within(60)
        .skip(skip.past_last_event),
        rows("ip t k", "h 1 probe; h 2 scan; h 3 probe; h 4 scan; h 5 probe; h 6 probe"),
        "h: e@2,4",
        by="ip",
    ),
    UseCase(
        "F22",
        "a branch: after the start one of two middles, each with its name, then the end",
        Pattern.begin("s")
        .where("k = 's'")
        .next(one_of(Pattern.begin("m1").where("k = 'm1'"), Pattern.begin("m2").where("k = 'm2' AND v > 5")))
        .followed_by("e")
        .where("k = 'e'"),
        rows("t k v", "1 s 0; 2 m1 0; 3 e 0; 4 s 0; 5 m2 9; 6 e 0; 7 s 0; 8 m2 1; 9 e 0"),
        "s@1 m1@2 m2@- e@3 | s@4 m1@- m2@5 e@6",
    ),
    UseCase(
        "F23",
        "A B or C D, and then E",
        Pattern.begin(one_of(A.next("b").where("k = 'B'"), C.next("d").where("k = 'D'"))).next("e").where("k = 'E'"),
        rows("t k", "1 A; 2 B; 3 E; 4 C; 5 D; 6 E; 7 A; 8 B; 9 C; 10 D; 11 E; 12 E"),
        "a@1 b@2 c@- d@- e@3 | a@- b@- c@4 d@5 e@6 | a@- b@- c@9 d@10 e@11",
    ),
    UseCase(
        "F24",
        "two rules, one by user and one by item, told apart",
        FAILURES,
        SHOP,
        "failures of u | returns of 3",
        by="user",
        further=_both_rules,
    ),
)
