# %% [markdown]
# # V-shapes in prices
# A price that falls for days and then rises above where it began: the classic of SQL's `MATCH_RECOGNIZE`. The prices
# are made up, with such shapes planted in some of them.

# %%
import random
import sys
from datetime import date, timedelta

from cepheid import RowPattern

chance = random.Random(11)
FIRST = date(2025, 1, 6)
rows: list[dict[str, object]] = []
planted: set[str] = set()

for number in range(60):
    symbol = f"S{number:02d}"
    prices = [100 + day % 2 for day in range(20)]  # up and down by one
    match number % 6:
        case 0:  # down for five days, then up above the start
            planted.add(symbol)
            prices[8:16] = [99, 96, 94, 91, 90, 95, 101, 108]
        case 1:  # down, and only half the way up again
            prices[8:20] = [99, 96, 94, 91, 90, 92, 94, 95, 94, 95, 94, 95]
        case 2:  # down for two days only
            prices[8:11] = [99, 98, 104]
        case _:
            pass
    for day, price in enumerate(prices):
        moment = FIRST + timedelta(days=day)
        rows.append({"symbol": symbol, "day": moment, "price": price + round(chance.uniform(0, 0.4), 2)})
print(f"{len(rows):,} prices of 60 symbols")

# %% [markdown]
# `DOWN` and `UP` compare a row with the one before it. `{4,}` asks for four days of fall or more. The last row of the
# match, `ABOVE`, is above the first one.

# %%
shapes = RowPattern.parse("""
    PARTITION BY symbol ORDER BY day
    MEASURES
        STRT.day AS since, LAST(DOWN.day) AS lowest_on, LAST(DOWN.price) AS lowest,
        ABOVE.day AS until, ROUND(ABOVE.price - STRT.price, 2) AS gained
    ONE ROW PER MATCH
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN (STRT DOWN{4,} UP* ABOVE)
    DEFINE
        DOWN AS price < PREV(price),
        UP AS price > PREV(price),
        ABOVE AS price > PREV(price) AND price > STRT.price
""")
shapes.diagram()

# %%
found = shapes.match_events(rows)
print(f"{'symbol':<8}{'from':<12}{'lowest':<12}{'price':>7}  {'until':<12}{'gained':>6}")
for match in found.matches[:5]:
    days = f"{match['since']!s:<12}{match['lowest_on']!s:<12}"
    print(f"{match['symbol']:<8}{days}{match['lowest']:>7.2f}  {match['until']!s:<12}{match['gained']:>6.2f}")
assert {match["symbol"] for match in found.matches} == planted
print(f"{len(found.matches)} V-shapes, exactly those that were planted")

# %% [markdown]
# The same as a query on Spark: run this file with `--spark`.

# %%
if "--spark" in sys.argv:
    import pyarrow as pa

    import cepheid
    from cepheid.spark.embedded import embedded_spark

    with embedded_spark("V-shapes") as spark:
        frame = spark.createDataFrame(pa.Table.from_pylist(rows))
        query = f"SELECT * FROM prices MATCH_RECOGNIZE ({shapes}) AS v"
        on_spark = [row.asDict() for row in cepheid.sql(query, spark, prices=frame).collect()]
    assert sorted(on_spark, key=str) == sorted(found.matches, key=str)
    print(f"Spark found the same {len(on_spark)}")
