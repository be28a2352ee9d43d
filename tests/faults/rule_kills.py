"""Rules that come, change and go on a live stream under kills: `python tests/faults/rule_kills.py --kills 20`.

The job follows a directory of rules, which is changed at random while it runs and while it is dead; it is killed with
SIGKILL at random moments and between a sink's write and the commit. Which rules a micro-batch ran with is noted by the
job (generations) and kept in the checkpoint (registries); each instance of a rule is then compared with a stream of its
own over the micro-batches of its lifetime.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

sys.path.insert(0, str(Path(__file__).parents[1]))

from faults.comparing import rows_of
from faults.kills import SHORT_LIVED, SLOW_START, last_commit, write_events
from spark.stream.operator_stream import OperatorStream

from cepheid.rule import read
from cepheid.spark.rules.registry import Registry
from cepheid.syntax.tree import PatternTree

JOB = Path(__file__).parent / "rules_job.py"
DELAY_MS = 3_000
SCHEMA = pa.schema(
    [("key", pa.string()), ("ts", pa.timestamp("us")), ("id", pa.int64()), ("name", pa.string()), ("price", pa.int64())]
)
TEXTS = (
    "a[name = 'a'] ~> b[name = 'b' AND price > a.price] within 8 seconds",
    "a[name = 'a'] ~> b[name = 'b']{2} ~> c[name = 'c'] within 9 seconds, skip past last event",
    "a[name = 'a' AND price > 6] ~> !b[name = 'b'] within 2 seconds",
    "a[price > 7] ~> b[price > 3] ~> c[price < 2] within 6 seconds, skip to next",
    "any -> other[name = 'd'] within 3 seconds",
    "a[name = 'c'] ~> b[name = 'c' AND price = a.price] within 9 seconds",
    "a[name = 'b'] ~> b[price > 1 AND price <= 4] within 8 seconds, once per 3 seconds",
)


@dataclass
class Outcome:
    """How often the job was killed, how many sets of rules there were, and what is wrong."""

    kills: int
    sets: int
    problems: list[str]


class Rules:
    """The directory of rules, changed at random."""

    def __init__(self, place: Path, chance: random.Random) -> None:
        self.place, self.chance = place, chance
        self.texts: dict[str, str] = {}
        place.mkdir()
        for name in ("one", "two"):
            self._write(name, self._unused())

    def change(self, number: int) -> None:
        """Add, change or remove a rule, in turn; then at random. Now and then break another file, which is right."""
        self.mend()  # a directory in which nothing is right cannot be started with
        kind = number % 3 if number < 3 else self.chance.randrange(3)
        name = self.chance.choice(sorted(self.texts))
        if kind == 0 and len(self.texts) < 5:
            name = f"added {number}"
            self._write(name, self._unused())
        elif kind == 1 or len(self.texts) < 3:
            self._write(name, self._unused())
        else:
            del self.texts[name]
            (self.place / f"{name}.toml").unlink()
        others = sorted(self.texts.keys() - {name})
        if self.chance.random() < 0.4:  # its rule goes on as it was
            (self.place / f"{self.chance.choice(others)}.toml").write_text('pattern = "a[')

    def mend(self) -> None:
        """All files as they should be."""
        for name, text in self.texts.items():
            self._write(name, text)

    def _unused(self) -> str:
        return self.chance.choice([text for text in TEXTS if text not in self.texts.values()])

    def _write(self, name: str, text: str) -> None:
        self.texts[name] = text
        written = f'pattern = "{text}"\npartition_by = "key"\n'
        file = self.place / f"{name}.toml"
        if not file.exists() or file.read_text() != written:
            file.write_text(written)


def outcome(place: Path, seed: int, batches: int, kills: int, crashes: int, changes: int) -> Outcome:
    """One life of a stream, from its first start to its end."""
    chance = random.Random(seed)
    write_events(place, seed, batches)
    rules = Rules(place / "rules", chance)
    for batch in chance.sample(range(2, batches - 2), crashes):
        (place / f"crash-{batch}").touch()
    feed = Feed(place, rules, [(number + 1) * (batches - 2) // (changes + 1) for number in range(changes)])
    killed = _run(place, feed, chance, kills)
    registries = _registries(place)
    return Outcome(killed, len(registries), _problems(place, batches, registries))


class Feed:
    """The files of events, which are given to the stream up to the next change of the rules, and after the change has
    been taken up to the one after it: so that each set of rules sees events, however slow the machine."""

    def __init__(self, place: Path, rules: Rules, steps: list[int]) -> None:
        self.place, self.rules, self.steps = place, rules, steps
        self.files = sorted((place / "in").iterdir())
        self.done = self.sets = self.given = 0
        (place / "in").rename(place / "waiting")
        (place / "in").mkdir()

    def step(self) -> None:
        """Do what is due."""
        noted = {int(path.name) for path in (self.place / "generations").glob("*")}
        if len(_registries(self.place)) <= self.sets:  # the last change has not been taken up
            return
        is_last = self.done == len(self.steps)
        up_to = len(self.files) if is_last else self.steps[self.done]
        for file in self.files[self.given : up_to]:
            (self.place / "waiting" / file.name).rename(file)
            self.given += 1
        if len(noted) < self.given or not noted or last_commit(self.place) < max(noted):
            return
        if is_last:
            self.rules.mend()
            (self.place / "finish").touch()
        else:
            self.change()

    def change(self) -> None:
        """Change the rules, if there is a change left."""
        if self.done < len(self.steps):
            self.sets = len(_registries(self.place))
            self.rules.change(self.done)
            self.done += 1


def _run(place: Path, feed: Feed, chance: random.Random, kills: int) -> int:
    in_all, log = 0, place / "log"
    while True:
        begun = len(log.read_text(errors="replace")) if log.exists() else 0
        before, limit = last_commit(place), float("inf")
        with log.open("ab") as output:
            job = subprocess.Popen(
                [sys.executable, str(JOB), str(place)],
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, **SHORT_LIVED},
            )
        while job.poll() is None and time.monotonic() < limit:
            feed.step()
            if kills and limit == float("inf") and last_commit(place) > before:
                limit = time.monotonic() + chance.uniform(0.0, 4.0)
            time.sleep(0.1)
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)  # the driver and its JVM
            kills -= 1
            if chance.random() < 0.5:
                feed.change()  # while the job is dead
        code, said = job.wait(), log.read_text(errors="replace")[begun:]
        if code == 0:
            return in_all
        if code == -signal.SIGKILL:
            in_all += 1
        elif SLOW_START not in said:
            raise RuntimeError(f"the job failed with {code}:\n{said[-5_000:]}")


def _registries(place: Path) -> dict[int, Registry]:
    """By generation, which rules ran."""
    lines = [
        line for file in (place / "checkpoint/cepheid/rules").glob("part-*") for line in file.read_text().splitlines()
    ]
    return {one.generation: one for one in map(Registry.from_json, lines)}


def _problems(place: Path, batches: int, registries: dict[int, Registry]) -> list[str]:
    noted = sorted((int(file.name), int(file.read_text())) for file in (place / "generations").iterdir())
    generations = [generation for _, generation in noted]  # micro-batches without events are not noted
    if len(generations) != batches:
        return [f"{len(generations)} micro-batches were noted, of {batches}"]
    events = _events(place, batches)
    last = registries[max(registries)]
    lives: dict[str, list[int]] = {}
    known: dict[str, tuple[str, PatternTree]] = {}
    for batch in range(batches):
        for one in registries[generations[batch]].running:
            lives.setdefault(one.instance, []).append(batch)
            known[one.instance] = one.rule, read(one.text).tree
    least, most = Counter[Any](), Counter[Any]()
    for instance, lived in lives.items():
        name, tree = known[instance]
        is_alive = any(one.instance == instance for one in last.running)
        if lived != list(range(lived[0], lived[-1] + 1)):
            return [f"rule {name!r} lived in the micro-batches {lived}"]
        own = _alone(tree, events, lived, is_alive)
        least += Counter({(name, match): 1 for match in own})
        # time may have moved on without events; and a micro-batch that was written, not committed, and replayed
        # without the rule may have left its rows
        longer = lived if lived[-1] + 1 == batches else [*lived, lived[-1] + 1]
        further = own if is_alive else own | _alone(tree, events, longer, lived is longer)
        most += Counter({(name, match): 1 for match in further})
    found = Counter((row["rule"], row["match_id"]) for row in rows_of(place / "matches"))
    problems = [] if found else ["there are no matches to compare: the test shows nothing"]
    if least - found:
        problems.append(f"{(least - found).total()} matches lost: {list((least - found).items())[:3]}")
    if found - most:
        problems.append(f"{(found - most).total()} matches too many: {list((found - most).items())[:3]}")
    return problems


def _alone(tree: PatternTree, events: list[pa.Table], lived: list[int], to_the_end: bool) -> set[str]:
    """What a stream of its own finds in some micro-batches, with the watermarks of the whole stream."""
    stream = OperatorStream(tree, SCHEMA, ["key"], ["ts", "id"], timeouts=False)
    for batch in lived:
        seen = [pc.max(table["ts"]).as_py() for table in events[:batch] if table.num_rows]
        newest = max(seen, default=datetime(1970, 1, 1)) - datetime(1970, 1, 1)
        stream.batch(events[batch], max(0, int(newest / timedelta(milliseconds=1)) - DELAY_MS))
    if to_the_end:
        stream.end()
    assert not stream.found["late"]
    return {row["match_id"] for row in stream.found["matches"]}


def _events(place: Path, batches: int) -> list[pa.Table]:
    """The events of each micro-batch whose time can be used."""
    made = []
    for batch in range(batches):
        rows = [json.loads(line) for line in (place / "in" / f"{batch:04}.json").read_text().splitlines()]
        usable = [{**row, "ts": datetime.fromisoformat(row["ts"])} for row in rows if str(row["ts"]).startswith("2025")]
        made.append(pa.Table.from_pylist(usable, SCHEMA))
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    total, seed = 0, arguments.seed
    while total < arguments.kills:
        with tempfile.TemporaryDirectory() as place:
            found = outcome(Path(place), seed, batches=30, kills=4, crashes=2, changes=7)
        said = "; ".join(found.problems) or "each rule as on a stream of its own"
        print(f"seed {seed}: killed {found.kills} times, {found.sets} sets of rules, {said}", flush=True)
        if found.problems:
            return 1
        total, seed = total + found.kills, seed + 1
    print(f"{total} kills: each rule's output equals that of a stream of its own")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
