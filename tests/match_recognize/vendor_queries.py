"""The queries of Flink's documentation page of MATCH_RECOGNIZE, with its rows and its answers, and the forms that
Databricks' pages name, with its example. They run unchanged but for what a remark says.

Flink: docs/dev/table/sql/queries/match_recognize. Databricks: sql-ref-syntax-qry-select-match-recognize, -pattern,
-define and -measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True)
class VendorQuery:
    """A query over a table, its rows and what it gives."""

    name: str
    query: str
    table: str
    rows: list[dict[str, Any]]
    expected: list[tuple[Any, ...]]


BEGIN = datetime(2011, 4, 1, 10)


def at(second: int) -> datetime:
    return BEGIN + timedelta(seconds=second)


def ticker(prices: list[int], symbol: str = "ACME", first: int = 0, step: int = 1) -> list[dict[str, Any]]:
    return [
        {"symbol": symbol, "rowtime": at(first + step * place), "price": price, "tax": 1}
        for place, price in enumerate(prices)
    ]


def _over_ticker(clause: str) -> str:
    return f"SELECT * FROM Ticker MATCH_RECOGNIZE ({clause}) MR;"


_HEAD = "PARTITION BY symbol ORDER BY rowtime MEASURES"
_QUANTIFIED = f"""{_HEAD} C.price AS lastPrice ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
    PATTERN (A {{}} C) DEFINE A AS A.price > 10, B AS B.price < 15, C AS C.price > 12"""
_SKIPPING = f"""{_HEAD} SUM(A.price) AS sumPrice, FIRST(rowtime) AS startTime, LAST(rowtime) AS endTime
    ONE ROW PER MATCH {{}} PATTERN (A+ C) DEFINE A AS SUM(A.price) < 30"""
SKIPPED = ticker([7, 9, 10, 5, 10, 7, 14], "XYZ", first=1)
_LABELS = (
    "PARTITION BY symbol ORDER BY rowtime MEASURES CLASSIFIER() AS label ALL ROWS PER MATCH PATTERN ({}) DEFINE {}"
)

FLINK = [
    VendorQuery(
        "a b c",
        """SELECT T.aid, T.bid, T.cid FROM MyTable MATCH_RECOGNIZE (
             PARTITION BY userid ORDER BY proctime MEASURES A.id AS aid, B.id AS bid, C.id AS cid
             PATTERN (A B C) DEFINE A AS name = 'a', B AS name = 'b', C AS name = 'c') AS T""",
        "MyTable",
        [{"userid": 1, "proctime": at(n), "id": n, "name": name} for n, name in enumerate("xabcab")],
        [(1, 2, 3)],
    ),
    VendorQuery(
        "falling prices",
        _over_ticker(f"""{_HEAD} START_ROW.rowtime AS start_tstamp, LAST(PRICE_DOWN.rowtime) AS bottom_tstamp,
            LAST(PRICE_UP.rowtime) AS end_tstamp
            ONE ROW PER MATCH AFTER MATCH SKIP TO LAST PRICE_UP PATTERN (START_ROW PRICE_DOWN+ PRICE_UP)
            DEFINE
              PRICE_DOWN AS (LAST(PRICE_DOWN.price, 1) IS NULL AND PRICE_DOWN.price < START_ROW.price) OR
                  PRICE_DOWN.price < LAST(PRICE_DOWN.price, 1),
              PRICE_UP AS PRICE_UP.price > LAST(PRICE_DOWN.price, 1)"""),
        "Ticker",
        ticker([12, 17, 19, 21, 25, 18, 15, 14, 24, 25, 19]),
        [("ACME", at(4), at(7), at(8))],
    ),
    VendorQuery(
        "an average in DEFINE",
        _over_ticker(f"""{_HEAD} FIRST(A.rowtime) AS start_tstamp, LAST(A.rowtime) AS end_tstamp,
            AVG(A.price) AS avgPrice ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
            PATTERN (A+ B) DEFINE A AS AVG(A.price) < 15"""),
        "Ticker",
        ticker([12, 17, 13, 16, 25, 2, 4, 10, 15, 25, 25, 30]),
        [("ACME", at(0), at(3), 14.5), ("ACME", at(5), at(10), 13.5)],
    ),
    VendorQuery(
        "greedy",
        _over_ticker(_QUANTIFIED.format("B*")),
        "Ticker",
        ticker([10, 11, 12, 13, 14, 16], "XYZ", first=2),
        [("XYZ", 16)],
    ),
    # The page says that the reluctant form gives 13 and 16. The second match would begin with 14 and end with 16; no
    # row may be in it but A and C.
    VendorQuery(
        "reluctant",
        _over_ticker(_QUANTIFIED.format("B*?")),
        "Ticker",
        ticker([10, 11, 12, 13, 14, 16], "XYZ", first=2),
        [("XYZ", 13), ("XYZ", 16)],
    ),
    # The page forgets the comma in DEFINE. Its answer is a drop of 14 from 12:00 to 13:00, an hour later: but there, as
    # here, a match takes less than the interval, so the drop of 13 from 12:20 on is the first.
    VendorQuery(
        "within an hour",
        _over_ticker(f"""{_HEAD} C.rowtime AS dropTime, A.price - C.price AS dropDiff
            ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B* C) WITHIN INTERVAL '1' HOUR
            DEFINE B AS B.price > A.price - 10, C AS C.price < A.price - 10"""),
        "Ticker",
        ticker([20, 17, 18, 11, 14, 9, 15, 14, 24, 1, 19], step=1200),
        [("ACME", at(9 * 1200), 13)],
    ),
    VendorQuery(
        "one row per match",
        _over_ticker(f"""{_HEAD} FIRST(A.price) AS startPrice, LAST(A.price) AS topPrice, B.price AS lastPrice
            ONE ROW PER MATCH PATTERN (A+ B)
            DEFINE A AS LAST(A.price, 1) IS NULL OR A.price > LAST(A.price, 1), B AS B.price < LAST(A.price)"""),
        "Ticker",
        ticker([10, 12, 13, 11], "XYZ", first=2),
        [("XYZ", 10, 13, 11)],
    ),
    VendorQuery(
        "past last row",
        _over_ticker(_SKIPPING.format("AFTER MATCH SKIP PAST LAST ROW")),
        "Ticker",
        SKIPPED,
        [("XYZ", 26, at(1), at(4)), ("XYZ", 17, at(5), at(7))],
    ),
    VendorQuery(
        "to next row",
        _over_ticker(_SKIPPING.format("AFTER MATCH SKIP TO NEXT ROW")),
        "Ticker",
        SKIPPED,
        [
            ("XYZ", 26, at(1), at(4)),
            ("XYZ", 24, at(2), at(5)),
            ("XYZ", 25, at(3), at(6)),
            ("XYZ", 22, at(4), at(7)),
            ("XYZ", 17, at(5), at(7)),
            ("XYZ", 7, at(6), at(7)),  # the page leaves out this one, of the last two rows
        ],
    ),
    VendorQuery(
        "sums of all rows and of one variable",
        _over_ticker(
            _LABELS.format(
                "A B+", "A AS A.price >= 10, B AS B.price > A.price AND SUM(price) < 100 AND SUM(B.price) < 80"
            )
        ),
        "Ticker",
        ticker([10, 15, 20, 31, 35]),
        [
            ("ACME", at(n), label, price, 1)
            for n, (label, price) in enumerate(zip("ABBB", [10, 15, 20, 31], strict=True))
        ],
    ),
    VendorQuery(
        "logical offsets",
        _over_ticker(
            _LABELS.format(
                "A B+",
                """A AS A.price >= 10, B AS (LAST(B.price, 1) IS NULL OR B.price > LAST(B.price, 1)) AND
                   (LAST(B.price, 2) IS NULL OR B.price > 2 * LAST(B.price, 2))""",
            )
        ),
        "Ticker",
        ticker([10, 15, 20, 31, 35]),
        [
            ("ACME", at(n), label, price, 1)
            for n, (label, price) in enumerate(zip("ABBB", [10, 15, 20, 31], strict=True))
        ],
    ),
    VendorQuery(
        "offsets over all rows",
        _over_ticker(_LABELS.format("A B? C", "B AS B.price < 20, C AS LAST(price, 1) < C.price")),
        "Ticker",
        ticker([10, 15, 20]),
        [("ACME", at(0), "A", 10, 1), ("ACME", at(1), "B", 15, 1), ("ACME", at(2), "C", 20, 1)],
    ),
    VendorQuery(
        "offsets over all rows, without the optional one",
        _over_ticker(_LABELS.format("A B? C", "B AS B.price < 20, C AS LAST(price, 1) < C.price")),
        "Ticker",
        ticker([10, 20]),
        [("ACME", at(0), "A", 10, 1), ("ACME", at(1), "C", 20, 1)],
    ),
]

FLINK_SKIPS_TO_THE_START = [
    # The page says why it fails: the next match would begin where this one began.
    _over_ticker(_SKIPPING.format("AFTER MATCH SKIP TO FIRST A")),
    # The page shows three matches. After them the rule finds a fourth, 7 and 14, whose last A is its first row.
    _over_ticker(_SKIPPING.format("AFTER MATCH SKIP TO LAST A")),
]

_PRICES = ticker([10, 8, 5, 7, 9, 9])
DATABRICKS = [
    # The page's own example: the first and the last moment of each run of rising prices, and its length.
    VendorQuery(
        "rising prices",
        _over_ticker(f"""{_HEAD} FIRST(rowtime) AS start_tstamp, LAST(rowtime) AS end_tstamp, COUNT(*) AS run_length
            ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (strt up+) DEFINE up AS price > PREV(price)"""),
        "Ticker",
        ticker([100, 102, 105, 104, 106, 108], step=60),
        [("ACME", at(0), at(120), 3), ("ACME", at(180), at(300), 3)],
    ),
    VendorQuery(
        "a V, summed up",
        _over_ticker(f"""{_HEAD} strt.rowtime AS start_tstamp, LAST(down.rowtime) AS bottom_tstamp,
            LAST(up.rowtime) AS end_tstamp, count(*) AS n, min(price) AS low, avg(down.price) AS mean
            ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (strt down+ up+)
            DEFINE down AS down.price < PREV(down.price), up AS up.price > PREV(up.price)"""),
        "Ticker",
        _PRICES,
        [("ACME", at(0), at(2), at(4), 5, 5, 6.5)],
    ),
    VendorQuery(
        "the same, row by row",
        _over_ticker(f"""{_HEAD} MATCH_NUMBER() AS number, CLASSIFIER() AS label, LAST(up.price) AS risen
            ALL ROWS PER MATCH SHOW EMPTY MATCHES PATTERN (strt down{{2}} up{{1,}})
            DEFINE down AS price < PREV(price), up AS price > PREV(price)"""),
        "Ticker",
        _PRICES,
        [
            ("ACME", at(0), 1, "STRT", None, 10, 1),
            ("ACME", at(1), 1, "DOWN", None, 8, 1),
            ("ACME", at(2), 1, "DOWN", None, 5, 1),
            ("ACME", at(3), 1, "UP", 7, 7, 1),
            ("ACME", at(4), 1, "UP", 9, 9, 1),
        ],
    ),
    VendorQuery(
        "anchors at both ends",
        _over_ticker(f"{_HEAD} count(*) AS n PATTERN (^ a b{{,9}} $) DEFINE a AS price = 10, b AS price < 10"),
        "Ticker",
        _PRICES,
        [("ACME", 6)],
    ),
    VendorQuery(
        "PERMUTE and alternation",
        _over_ticker(
            f"{_HEAD} FIRST(price) AS f, LAST(price) AS l PATTERN (PERMUTE(a, b) | c) "
            "DEFINE a AS price = 8, b AS price = 10, c AS NEXT(price) = 9"
        ),
        "Ticker",
        _PRICES,
        [("ACME", 10, 8), ("ACME", 7, 7), ("ACME", 9, 9)],
    ),
    # The uses that its page names, and the functions that it allows in DEFINE; the queries are ours.
    VendorQuery(
        "a W",
        _over_ticker(f"""{_HEAD} strt.rowtime AS start_tstamp, FIRST(down.price) AS low, LAST(down.price) AS low_again,
            LAST(up.rowtime) AS end_tstamp PATTERN (strt down+ up+ down+ up+)
            DEFINE down AS price < PREV(price), up AS price > PREV(price)"""),
        "Ticker",
        ticker([10, 8, 9, 7, 11, 11]),
        [("ACME", at(0), 8, 7, at(4))],
    ),
    VendorQuery(
        "runs of equal values",
        _over_ticker(f"""{_HEAD} match_number() AS number, FIRST(price) AS price, count(*) AS n
            PATTERN (a same+) DEFINE same AS price = PREV(price)"""),
        "Ticker",
        ticker([5, 5, 5, 7, 8, 8]),
        [("ACME", 1, 5, 3), ("ACME", 2, 8, 2)],
    ),
    VendorQuery(
        "sessions",
        _over_ticker(f"""{_HEAD} FIRST(rowtime) AS since, LAST(rowtime) AS until, count(*) AS n
            PATTERN (a more*) DEFINE more AS rowtime < PREV(rowtime) + INTERVAL '30' MINUTE"""),
        "Ticker",
        [*ticker([1, 2], step=60), *ticker([3, 4, 5], first=4_000, step=60)],
        [("ACME", at(0), at(60), 2), ("ACME", at(4_000), at(4_120), 3)],
    ),
    VendorQuery(
        "the number of the match and labels in DEFINE",
        _over_ticker(f"""{_HEAD} FIRST(price) AS f, LAST(price) AS l PATTERN ((a | b) c)
            DEFINE b AS price > 1, c AS match_number() < 3 AND LAST(classifier(), 1) = 'B'"""),
        "Ticker",
        ticker([1, 2, 3, 4, 5, 6, 7]),
        [("ACME", 2, 3), ("ACME", 4, 5)],
    ),
]
