# %% [markdown]
# # Earthquake swarms
# A swarm is a series of earthquakes in one area, each soon after the last, that ends when the ground is quiet again.
# The data are one week of earthquakes as the U.S. Geological Survey published them (public domain).

# %%
import gzip
import json
import sys
from datetime import UTC, datetime
from math import floor
from pathlib import Path

from cepheid import Pattern

HERE = Path(__file__).parent if "__file__" in globals() else Path.cwd()
with gzip.open(HERE.parent / "data" / "earthquakes_usgs_2018w06.json.gz", "rt", encoding="utf-8") as file:
    features = json.load(file)["features"]
quakes = [
    {
        "area": f"{floor(feature['geometry']['coordinates'][1])},{floor(feature['geometry']['coordinates'][0])}",
        "ts": datetime.fromtimestamp(feature["properties"]["time"] / 1000, UTC).replace(tzinfo=None),
        "id": feature["id"],
        "magnitude": None if feature["properties"]["mag"] is None else float(feature["properties"]["mag"]),
        "place": feature["properties"]["place"],
        "kind": feature["properties"]["type"],
    }
    for feature in features
]
print(f"{len(quakes):,} events in {len({quake['area'] for quake in quakes})} areas of one degree by one degree")

# %% [markdown]
# Ten earthquakes or more, each less than three hours after the one before. The negation after the loop says when the
# swarm is over: three hours without another one. The match is emitted at that moment, with all its earthquakes.

# %%
swarm = (
    Pattern.begin("quake")
    .where("kind = 'earthquake'")
    .times_or_more(10, within="3 hours")
    .not_followed_by("another")
    .where("kind = 'earthquake'")
    .within("3 hours", since="previous")
    .skip("past_last_event")
)
found = swarm.match_events(quakes, partition_by="area", order_by=["ts", "id"])

# %%
print(f"{'quakes':>6}{'hours':>7}{'strongest':>10}  {'began':<18}near")
for match in sorted(found.matches, key=lambda match: -len(match["quake"]))[:8]:
    taken = match["quake"]
    hours = (taken[-1]["ts"] - taken[0]["ts"]).total_seconds() / 3600
    strongest = max(taken, key=lambda quake: quake["magnitude"] or 0)
    began = f"{taken[0]['ts']:%Y-%m-%d %H:%M}"
    print(f"{len(taken):>6}{hours:>7.1f}{strongest['magnitude']:>10.1f}  {began:<18}{strongest['place']}")
print(f"{len(found.matches)} swarms")

# %% [markdown]
# Foreshocks and their main shock: one or more earthquakes of magnitude 4 and above, and within two days one in the
# same area that is stronger than all of them by at least half a magnitude.

# %%
main_shock = (
    Pattern.begin("fore")
    .where("kind = 'earthquake' AND magnitude >= 4")
    .one_or_more()
    .followed_by("main")
    .where("kind = 'earthquake' AND magnitude >= MAX(fore.magnitude) + 0.5")
    .within("2 days")
    .skip("past_last_event")
)
shocks = main_shock.match_events(quakes, partition_by="area", order_by=["ts", "id"])
print(f"{'main':>5}{'fore':>5}{'strongest':>10}  near")
for match in sorted(shocks.matches, key=lambda match: -match["main"]["magnitude"])[:5]:
    strongest_before = max(quake["magnitude"] for quake in match["fore"])
    print(
        f"{match['main']['magnitude']:>5.1f}{len(match['fore']):>5}{strongest_before:>10.1f}  {match['main']['place']}"
    )

# %% [markdown]
# A swarm on a time axis:

# %%
found.timeline(1)

# %% [markdown]
# The same on Spark: run this file with `--spark`.

# %%
if "--spark" in sys.argv:
    import pyarrow as pa

    from cepheid.spark.embedded import embedded_spark

    with embedded_spark("earthquake swarms") as spark:
        frame = spark.createDataFrame(pa.Table.from_pylist(quakes))
        rows = swarm.match(frame, partition_by="area", order_by=["ts", "id"]).matches.collect()
    assert {row["match_id"] for row in rows} == {match["match_id"] for match in found.matches}
    print(f"Spark found the same {len(rows)}")
