# %% [markdown]
# # A funnel, row by row
# How far do visitors get on their way from the catalogue to an order, and where do they leave? Each row of a session is
# shown with the step that it is, by SQL's `ALL ROWS PER MATCH`. The data are 31,106 made-up shop events that come with
# retentioneering 5.2.4 (Apache License 2.0).

# %%
import csv
import gzip
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path

from cepheid import RowPattern

HERE = Path(__file__).parent if "__file__" in globals() else Path.cwd()
with gzip.open(HERE.parent / "data" / "ecom_retentioneering_5.2.4.csv.gz", "rt", encoding="utf-8") as file:
    events = [
        {"user": row["user_id"], "ts": datetime.fromisoformat(row["timestamp"]), "line": line, "event": row["event"]}
        for line, row in enumerate(csv.DictReader(file))
    ]
print(f"{len(events):,} events of {len({event['user'] for event in events})} users")

# %% [markdown]
# A visit goes on while less than half an hour lies between two events; `COUNT(*) = 1` is its first row. A row is
# `CART`, `CHECKOUT` or `BOUGHT`, or else `LOOK`: the first alternative that fits counts. `FINAL` measures know the
# whole visit on every row of it; `COUNT(CART.*)` counts up to the row.

# %%
visits = RowPattern.parse("""
    PARTITION BY user ORDER BY ts, line
    MEASURES
        MATCH_NUMBER() AS visit, CLASSIFIER() AS step, COUNT(CART.*) AS added,
        FINAL COUNT(BOUGHT.*) > 0 AS bought, FINAL LAST(ts) AS until
    ALL ROWS PER MATCH
    PATTERN ((CART | CHECKOUT | BOUGHT | LOOK)+)
    DEFINE
        CART AS event = 'add_to_cart' AND (COUNT(*) = 1 OR ts < PREV(ts) + INTERVAL '30' MINUTE),
        CHECKOUT AS event IN ('shipping_details', 'payment_details')
            AND (COUNT(*) = 1 OR ts < PREV(ts) + INTERVAL '30' MINUTE),
        BOUGHT AS event = 'purchase' AND (COUNT(*) = 1 OR ts < PREV(ts) + INTERVAL '30' MINUTE),
        LOOK AS COUNT(*) = 1 OR ts < PREV(ts) + INTERVAL '30' MINUTE
""")
visits.diagram()

# %%
found = visits.match_events(events).matches
print(f"{len(found):,} rows in {len({(row['user'], row['visit']) for row in found}):,} visits")

# %% [markdown]
# One visit, row by row:

# %%
first = next(row for row in found if row["bought"])
for row in found:
    if (row["user"], row["visit"]) == (first["user"], first["visit"]):
        print(f"{row['ts']:%H:%M:%S}  {row['event']:<20}{row['step']:<10}{row['added']}")

# %% [markdown]
# The funnel: how many visits have each step.

# %%
steps = Counter((row["user"], row["visit"], row["step"]) for row in found)
reached = Counter(step for _, _, step in steps)
for step in ("LOOK", "CART", "CHECKOUT", "BOUGHT"):
    print(f"{step:<10}{reached[step]:>7,} visits")

# %% [markdown]
# The same as a query on Spark: run this file with `--spark`.

# %%
if "--spark" in sys.argv:
    import pyarrow as pa

    import cepheid
    from cepheid.spark.embedded import embedded_spark

    with embedded_spark("funnel") as spark:
        frame = spark.createDataFrame(pa.Table.from_pylist(events))
        query = (
            f"SELECT step, count(DISTINCT user, visit) AS n FROM events MATCH_RECOGNIZE ({visits}) AS v GROUP BY step"
        )
        on_spark = {row.step: row.n for row in cepheid.sql(query, spark, events=frame).collect()}
    assert on_spark == dict(reached)
    print(f"Spark found the same {len(on_spark)} steps")
