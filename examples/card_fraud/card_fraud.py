# %% [markdown]
# # Card fraud: small, small, large
# A thief tests a stolen card number with small payments, each at a different shop. If they go through, a large one
# follows. The payments are made up, with frauds planted among them, and some cards that only look like fraud.

# %%
import random
import sys
from datetime import datetime, timedelta

from cepheid import Pattern

chance = random.Random(11)
MORNING = datetime(2025, 3, 3, 8, 0)
SHOPS = ["bakery", "books", "fuel", "games", "music", "shoes"]
payments: list[dict[str, object]] = []
frauds: set[str] = set()


def pay(card: str, minutes: float, amount: float, shop: str) -> None:
    payments.append({"card": card, "ts": MORNING + timedelta(minutes=minutes), "amount": amount, "shop": shop})


for number in range(1_000):
    card = f"card-{number:04d}"
    for _ in range(chance.randrange(3, 12)):
        pay(card, chance.uniform(0, 840), round(chance.uniform(12, 90), 2), chance.choice(SHOPS))
    begin = 900.0
    match number % 50:
        case 0:  # three small ones at different shops, then a large one
            frauds.add(card)
            for step, shop in enumerate(["bakery", "fuel", "music"]):
                pay(card, begin + 3 * step, 1.5 + step, shop)
            pay(card, begin + 12, 890.0, "games")
        case 1:  # two, then a large one, an ordinary payment in between
            frauds.add(card)
            pay(card, begin, 2.0, "books")
            pay(card, begin + 4, 4.0, "fuel")
            pay(card, begin + 6, 30.0, "shoes")
            pay(card, begin + 20, 700.0, "games")
        case 2:  # both small ones at the same shop: somebody buys bread
            pay(card, begin, 2.0, "bakery")
            pay(card, begin + 4, 3.0, "bakery")
            pay(card, begin + 9, 900.0, "shoes")
        case 3:  # the large one comes after the window
            pay(card, begin, 2.0, "bakery")
            pay(card, begin + 4, 3.0, "fuel")
            pay(card, begin + 30, 900.0, "shoes")
        case 4:  # not that large, compared with the small ones
            pay(card, begin, 9.0, "bakery")
            pay(card, begin + 4, 9.5, "fuel")
            pay(card, begin + 9, 510.0, "shoes")
        case _:
            pass
print(f"{len(payments):,} payments of 1,000 cards")

# %% [markdown]
# Two or more small payments, each at a different shop than the one before and less than ten minutes after it. The loop
# reads its own events; for the first payment there is nothing to read. The large payment is compared with the average
# of the small ones.

# %%
fraud = (
    Pattern.begin("small")
    .where("amount < 10", "COUNT(small.*) = 0 OR shop <> LAST(small.shop)")
    .times_or_more(2, within="10 minutes")
    .greedy()
    .followed_by("large")
    .where("amount > 500 AND amount > 100 * AVG(small.amount)")
    .within("30 minutes")
    .skip("past_last_event")
)
found = fraud.match_events(payments, partition_by="card", order_by="ts")

# %%
print(f"{'card':<11}{'small':>6}{'tried with':>12}{'then':>9}  at")
for match in found.matches[:6]:
    tried = sum(payment["amount"] for payment in match["small"])
    large = match["large"]
    print(f"{match['card']:<11}{len(match['small']):>6}{tried:>12.2f}{large['amount']:>9.2f}  {large['ts']:%H:%M}")
assert {match["card"] for match in found.matches} == frauds
print(f"{len(found.matches)} frauds, exactly those that were planted")

# %% [markdown]
# Two of them on a time axis:

# %%
found.timeline(2)

# %% [markdown]
# The same on Spark, where the columns of the table can be measures of the match: run this file with `--spark`.

# %%
if "--spark" in sys.argv:
    import pyarrow as pa

    from cepheid.spark.embedded import embedded_spark

    with embedded_spark("card fraud") as spark:
        frame = spark.createDataFrame(pa.Table.from_pylist(payments))
        measures = {"tries": "COUNT(small.*)", "tried": "SUM(small.amount)", "taken": "large.amount"}
        rows = fraud.match(frame, partition_by="card", order_by="ts", measures=measures).matches.collect()
    assert {row["match_id"] for row in rows} == {match["match_id"] for match in found.matches}
    assert sorted(row["tries"] for row in rows) == sorted(len(match["small"]) for match in found.matches)
    print(f"Spark found the same {len(rows)}")
