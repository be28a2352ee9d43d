# %% [markdown]
# # Shoplifting
# Everything in the shop has a radio tag. A tag that goes from a shelf to the exit without passing the counter was not
# paid for. The shop is made up, so the right answer is known.

# %%
import sys

from cepheid import Pattern
from cepheid.demo import open_shop

shop = open_shop(tags=5_000, seed=7)
print(f"{shop.readings.num_rows:,} readings of 5,000 tags")

# %% [markdown]
# `not_followed_by` forbids a reading at the counter between the shelf and the exit. `past_last_event` gives one match
# per theft, although a tag may have been seen on the shelf several times.

# %%
shoplifting = (
    Pattern.begin("shelf")
    .where("reader = 'SHELF'")
    .not_followed_by("counter")
    .where("reader = 'COUNTER'")
    .followed_by("exit")
    .where("reader = 'EXIT'")
    .within("12 hours")
    .skip("past_last_event")
)
found = shoplifting.match_events(shop.readings, partition_by="tag", order_by="ts")

# %%
print(f"{'tag':<14}{'on the shelf':<22}{'at the exit':<22}")
for match in found.matches[:5]:
    print(f"{match['tag']:<14}{match['shelf']['ts']:%Y-%m-%d %H:%M:%S}   {match['exit']['ts']:%Y-%m-%d %H:%M:%S}")
stolen = {match["tag"] for match in found.matches}
assert stolen == shop.stolen
print(f"{len(stolen)} tags were stolen, exactly those that the shop made up")

# %% [markdown]
# Two of them on a time axis:

# %%
found.timeline(2)

# %% [markdown]
# The same on Spark: run this file with `--spark`. A match has the same `match_id` wherever it was found.

# %%
if "--spark" in sys.argv:
    from cepheid.spark.embedded import embedded_spark

    with embedded_spark("shoplifting") as spark:
        readings = spark.createDataFrame(shop.readings)
        matches = shoplifting.match(readings, partition_by="tag", order_by="ts").matches.collect()
    assert {row["match_id"] for row in matches} == {match["match_id"] for match in found.matches}
    print(f"Spark found the same {len(matches)}")
