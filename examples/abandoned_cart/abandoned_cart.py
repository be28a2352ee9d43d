# %% [markdown]
# # Abandoned carts
# A visitor who puts something into the cart, goes to the checkout and does not buy within an hour has abandoned the
# cart. The data are 31,106 made-up shop events that come with retentioneering 5.2.4 (Apache License 2.0).

# %%
import csv
import gzip
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path

from cepheid import Pattern

HERE = Path(__file__).parent if "__file__" in globals() else Path.cwd()
with gzip.open(HERE.parent / "data" / "ecom_retentioneering_5.2.4.csv.gz", "rt", encoding="utf-8") as file:
    events = [
        {
            "user": row["user_id"],
            "ts": datetime.fromisoformat(row["timestamp"]),
            "line": line,
            "event": row["event"],
            "platform": row["platform"],
        }
        for line, row in enumerate(csv.DictReader(file))
    ]
print(f"{len(events):,} events of {len({event['user'] for event in events})} users")

# %% [markdown]
# Some events of a user share the same second, so the line of the file breaks ties. The negation at the end applies for
# an hour after the last step of the checkout; the match is emitted when that hour has passed. A failed payment is a
# step, too.

# %%
abandoned = (
    Pattern.begin("add")
    .where("event = 'add_to_cart'")
    .followed_by("checkout")
    .where("event IN ('shipping_details', 'payment_details', 'payment_error')")
    .not_followed_by("purchase")
    .where("event = 'purchase'")
    .within("1 hour", since="previous")
    .within("1 day")
    .skip("past_last_event")
)
found = abandoned.match_events(events, partition_by="user", order_by=["ts", "line"])

# %%
by_platform = Counter(match["checkout"]["platform"] for match in found.matches)
bought = Counter(event["platform"] for event in events if event["event"] == "purchase")
print(f"{'platform':<12}{'abandoned':>10}{'purchases':>10}")
for platform, count in by_platform.most_common():
    print(f"{platform:<12}{count:>10}{bought[platform]:>10}")
print(f"{len(found.matches)} carts were left behind by {len({match['user'] for match in found.matches})} users")

# %% [markdown]
# Some users go round in circles: from the shipping details back to the cart, and again. The pattern is a group that
# repeats, with anything in between.

# %%
going_round = (
    Pattern.begin(
        Pattern.begin("shipping").where("event = 'shipping_details'").followed_by("cart").where("event = 'cart'")
    )
    .times(2)
    .within("1 hour")
    .skip("past_last_event")
)
rounds = going_round.match_events(events, partition_by="user", order_by=["ts", "line"])
print(f"{len(rounds.matches)} times a user went round twice within an hour")

# %% [markdown]
# One of these on a time axis:

# %%
rounds.timeline(1)

# %% [markdown]
# The same on Spark: run this file with `--spark`.

# %%
if "--spark" in sys.argv:
    import pyarrow as pa

    from cepheid.spark.embedded import embedded_spark

    with embedded_spark("abandoned carts") as spark:
        frame = spark.createDataFrame(pa.Table.from_pylist(events))
        rows = abandoned.match(frame, partition_by="user", order_by=["ts", "line"]).matches.collect()
    assert {row["match_id"] for row in rows} == {match["match_id"] for match in found.matches}
    print(f"Spark found the same {len(rows)}")
