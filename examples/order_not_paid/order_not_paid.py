# %% [markdown]
# # Unpaid orders
# Orders must be paid within two days. An order that is neither paid nor cancelled by then is reported at that moment,
# even though no event happens then. The orders are made up, so the right answer is known.

# %%
import sys
from datetime import datetime, timedelta

from cepheid import Pattern

MONDAY = datetime(2025, 3, 3, 9, 0)
events: list[dict[str, object]] = []
unpaid: set[int] = set()
cancelled: set[int] = set()


def happens(order: int, hours: float, kind: str, amount: float) -> None:
    moment = MONDAY + timedelta(minutes=order) + timedelta(hours=hours)
    events.append({"order_id": order, "ts": moment, "kind": kind, "amount": amount})


for order in range(1_000):
    price = 20.0 + order % 70
    happens(order, 0, "order", price)
    match order % 20:
        case 0:  # nothing at all
            unpaid.add(order)
        case 1:  # too little, and nothing more
            happens(order, 5, "payment", price - 1)
            unpaid.add(order)
        case 2:  # exactly two days later is too late
            happens(order, 48, "payment", price)
            unpaid.add(order)
        case 3:
            happens(order, 7, "cancellation", 0.0)
            cancelled.add(order)
        case 4:  # too little at first, then all of it
            happens(order, 5, "payment", price - 1)
            happens(order, 30, "payment", price)
        case _:
            happens(order, 1 + order % 46, "payment", price)
print(f"{len(events):,} events of 1,000 orders")

# %% [markdown]
# The pattern ends with two negations, and both apply until the window ends. The first reads the order: a payment counts
# only if it covers the price.

# %%
not_paid = (
    Pattern.begin("ordered")
    .where("kind = 'order'")
    .not_followed_by("payment")
    .where("kind = 'payment' AND amount >= ordered.amount")
    .not_followed_by("cancellation")
    .where("kind = 'cancellation'")
    .within("2 days")
)
found = not_paid.match_events(events, partition_by="order_id", order_by="ts")

# %%
print(f"{'order':>5}{'amount':>9}  {'ordered':<18}{'remind at':<18}")
for match in found.matches[:6]:
    ordered = match["ordered"]
    due = ordered["ts"] + timedelta(days=2)
    print(f"{match['order_id']:>5}{ordered['amount']:>9.2f}  {ordered['ts']:%Y-%m-%d %H:%M}  {due:%Y-%m-%d %H:%M}")
assert {match["order_id"] for match in found.matches} == unpaid
print(f"{len(found.matches)} orders were not paid, exactly those that were planted")

# %% [markdown]
# You can also look for orders that *are* paid and use the timeouts, the runs that waited in vain. A timeout has `at`,
# the moment when the wait ended. Cancelled orders time out as well.

# %%
paid = (
    Pattern.begin("ordered")
    .where("kind = 'order'")
    .followed_by("payment")
    .where("kind = 'payment' AND amount >= ordered.amount")
    .within("2 days")
)
waited = paid.match_events(events, partition_by="order_id", order_by="ts")
assert {timeout["order_id"] for timeout in waited.timeouts} == unpaid | cancelled
assert all(timeout["at"] == timeout["ordered"]["ts"] + timedelta(days=2) for timeout in waited.timeouts)
print(
    f"{len(waited.matches)} orders were paid, {len(waited.timeouts)} waited in vain, {len(cancelled)} of them cancelled"
)

# %% [markdown]
# Two unpaid orders on a time axis:

# %%
found.timeline(2)

# %% [markdown]
# The same on Spark: run this file with `--spark`.

# %%
if "--spark" in sys.argv:
    import pyarrow as pa

    from cepheid.spark.embedded import embedded_spark

    with embedded_spark("order not paid") as spark:
        frame = spark.createDataFrame(pa.Table.from_pylist(events))
        rows = not_paid.match(frame, partition_by="order_id", order_by="ts").matches.collect()
    assert {row["match_id"] for row in rows} == {match["match_id"] for match in found.matches}
    print(f"Spark found the same {len(rows)}")
