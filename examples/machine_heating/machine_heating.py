# %% [markdown]
# # A machine that overheats before it fails
# A machine that gets hotter with every reading, by 12 degrees or more in total, and then fails, should have been
# stopped. The readings are made up, with such failures planted among others that came without warning.

# %%
import random
import sys
from datetime import datetime, timedelta

from cepheid import Pattern

chance = random.Random(3)
SHIFT = datetime(2025, 3, 3, 6, 0)
events: list[dict[str, object]] = []
heated: set[str] = set()


def happens(machine: str, minute: int, kind: str, temperature: float | None) -> None:
    moment = SHIFT + timedelta(minutes=minute)
    events.append({"machine": machine, "ts": moment, "kind": kind, "temperature": temperature})


for number in range(200):
    machine = f"press-{number:03d}"
    for minute in range(60):  # up and down around 60 degrees
        happens(machine, minute, "reading", 60.0 + (minute % 2) + round(chance.uniform(0, 0.9), 1))
    climb = [62.5, 65.0, 69.5, 72.0, 76.5, 81.0]
    match number % 20:
        case 0:  # hotter and hotter, then broken
            heated.add(machine)
            for step, temperature in enumerate(climb):
                happens(machine, 60 + step, "reading", temperature)
            happens(machine, 66, "failure", None)
        case 1:  # broken without a warning
            happens(machine, 66, "failure", None)
        case 2:  # hotter and hotter, but somebody stopped it; what failed later was something else
            for step, temperature in enumerate(climb):
                happens(machine, 60 + step, "reading", temperature)
            happens(machine, 66, "stopped", None)
            happens(machine, 69, "failure", None)
        case 3:  # hotter and hotter, and it held
            for step, temperature in enumerate(climb):
                happens(machine, 60 + step, "reading", temperature)
        case 4:  # rising, but only by a little
            for step in range(6):
                happens(machine, 60 + step, "reading", 62.0 + step)
            happens(machine, 66, "failure", None)
        case _:
            pass
print(f"{len(events):,} events of 200 machines")

# %% [markdown]
# Four readings or more, one directly after the other and each hotter than the last. The fold `endured` adds up the
# degrees above 62. The failure must come within ten minutes of the last reading, after a rise of 12 degrees or more and
# enough heat in total; nobody has stopped the machine in between.

# %%
overheated = (
    Pattern.begin("rise")
    .where("kind = 'reading'", "COUNT(rise.*) = 0 OR temperature > LAST(rise.temperature)")
    .fold("endured", init="0.0D", update="endured + CASE WHEN temperature > 62 THEN temperature - 62 ELSE 0.0D END")
    .times_or_more(4)
    .consecutive()
    .greedy()
    .not_followed_by("stopped")
    .where("kind = 'stopped'")
    .followed_by("failure")
    .where("kind = 'failure'", "MAX(rise.temperature) - FIRST(rise.temperature) >= 12", "endured >= 40")
    .within("10 minutes", since="previous")
    .within("1 hour")
    .skip("past_last_event")
)
found = overheated.match_events(events, partition_by="machine", order_by="ts")

# %%
print(f"{'machine':<11}{'readings':>8}{'from':>7}{'to':>7}  failed at")
for match in found.matches[:5]:
    rise = [reading["temperature"] for reading in match["rise"]]
    print(f"{match['machine']:<11}{len(rise):>8}{rise[0]:>7.1f}{rise[-1]:>7.1f}  {match['failure']['ts']:%H:%M}")
assert {match["machine"] for match in found.matches} == heated
print(f"{len(found.matches)} machines overheated, exactly those that were planted")

# %% [markdown]
# Two of them on a time axis:

# %%
found.timeline(2)

# %% [markdown]
# The same on Spark: run this file with `--spark`.

# %%
if "--spark" in sys.argv:
    import pyarrow as pa

    from cepheid.spark.embedded import embedded_spark

    with embedded_spark("machine heating") as spark:
        frame = spark.createDataFrame(pa.Table.from_pylist(events))
        rows = overheated.match(frame, partition_by="machine", order_by="ts").matches.collect()
    assert {row["match_id"] for row in rows} == {match["match_id"] for match in found.matches}
    print(f"Spark found the same {len(rows)}")
