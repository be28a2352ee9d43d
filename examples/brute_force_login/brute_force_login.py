# %% [markdown]
# # Brute-force login
# Many failed logins in quick succession from one address, then a successful one to the account tried last: somebody has
# guessed a password. The log is made up, so the right answer is known.

# %%
import random
import sys
from datetime import datetime, timedelta

from cepheid import Pattern

chance = random.Random(5)
NIGHT = datetime(2025, 3, 3, 1, 0)
logins: list[dict[str, object]] = []
attackers: set[str] = set()


def login(address: str, seconds: float, account: str, result: str) -> None:
    moment = NIGHT + timedelta(seconds=round(seconds, 3))
    logins.append({"address": address, "ts": moment, "account": account, "result": result})


for number in range(400):
    address = f"10.0.{number // 250}.{number % 250}"
    for _ in range(chance.randrange(1, 20)):  # people who mistype now and then
        login(address, chance.uniform(0, 36_000), f"user-{number}", "failed" if chance.random() < 0.15 else "ok")
    begin = 40_000.0
    match number % 40:
        case 0:  # eight tries, two seconds apart, then it works
            attackers.add(address)
            for step in range(8):
                login(address, begin + 2 * step, "root", "failed")
            login(address, begin + 17, "root", "ok")
        case 1:  # several accounts in turn, and the last one gives way
            attackers.add(address)
            for step, account in enumerate(["ann", "bob", "cid", "dan", "eve", "eve"]):
                login(address, begin + 3 * step, account, "failed")
            login(address, begin + 20, "eve", "ok")
        case 2:  # many tries, but the one who gets in is another account of that address
            for step in range(8):
                login(address, begin + 2 * step, "root", "failed")
            login(address, begin + 17, f"user-{number}", "ok")
        case 3:  # somebody who forgot the password, and takes time to think
            for step in range(6):
                login(address, begin + 60 * step, f"user-{number}", "failed")
            login(address, begin + 380, f"user-{number}", "ok")
        case 4:  # four tries are not yet suspicious
            for step in range(4):
                login(address, begin + 2 * step, f"user-{number}", "failed")
            login(address, begin + 17, f"user-{number}", "ok")
        case _:
            pass
print(f"{len(logins):,} logins from 400 addresses")

# %% [markdown]
# Five or more failures, each less than ten seconds after the one before. The loop is greedy: it takes every failure
# that it can, so `LAST(failure.account)` is the account tried last.

# %%
guessed = (
    Pattern.begin("failure")
    .where("result = 'failed'")
    .times_or_more(5, within="10 seconds")
    .consecutive()
    .greedy()
    .next("success")
    .where("result = 'ok' AND account = LAST(failure.account)")
    .within("10 minutes")
    .skip("past_last_event")
)
found = guessed.match_events(logins, partition_by="address", order_by="ts")

# %%
print(f"{'address':<12}{'tries':>6}{'accounts':>9}{'seconds':>8}  got in as")
for match in found.matches[:6]:
    tries = match["failure"]
    accounts = len({login["account"] for login in tries})
    seconds = (match["success"]["ts"] - tries[0]["ts"]).total_seconds()
    print(f"{match['address']:<12}{len(tries):>6}{accounts:>9}{seconds:>8.0f}  {match['success']['account']}")
assert {match["address"] for match in found.matches} == attackers
print(f"{len(found.matches)} passwords were guessed, exactly those that were planted")

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

    with embedded_spark("brute-force login") as spark:
        frame = spark.createDataFrame(pa.Table.from_pylist(logins))
        rows = guessed.match(frame, partition_by="address", order_by="ts").matches.collect()
    assert {row["match_id"] for row in rows} == {match["match_id"] for match in found.matches}
    print(f"Spark found the same {len(rows)}")
