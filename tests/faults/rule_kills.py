"""Rules that come, change and go on a live stream under kills: `python tests/faults/rule_kills.py --kills 20`.

The job follows a directory of rules, which is changed at random while it runs and while it is dead; it is killed with
SIGKILL at random moments and between a sink's write and the commit, or its Python workers are. Some rules are patterns,
others row patterns. Each is then compared with a stream of its own over the micro-batches of its lifetime
(`comparing_rules`).
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from faults import rules_job
from faults.comparing_rules import compare_rules, noted, registries
from faults.drivers import start
from faults.kills import SLOW_START, kill, last_commit, surroundings, write_events
from faults.victims import worker_or_daemon

TEXTS = (
    "a[name = 'a'] ~> b[name = 'b' AND price > a.price] within 8 seconds",
    "a[name = 'a'] ~> b[name = 'b']{2} ~> c[name = 'c'] within 9 seconds, skip past last event",
    "a[name = 'a' AND price > 6] ~> !b[name = 'b'] within 2 seconds",
    "a[price > 7] ~> b[price > 3] ~> c[price < 2] within 6 seconds, skip to next",
    "any -> other[name = 'd'] within 3 seconds",
    "a[name = 'c'] ~> b[name = 'c' AND price = a.price] within 9 seconds",
    "a[name = 'b'] ~> b[price > 1 AND price <= 4] within 8 seconds, once per 3 seconds",
)
MEASURES = "MEASURES MATCH_NUMBER() AS number, FIRST(id) AS first, LAST(id) AS last, SUM(price) AS total"
"""Tell the matches of a key apart. The number is state by itself: it shows a match that was found twice, or not."""
ROW_TEXTS = (
    f"PARTITION BY key {MEASURES} PATTERN (A B+ C) DEFINE A AS name = 'a', B AS name = 'b', C AS price > A.price",
    f"PARTITION BY key ORDER BY ts, id {MEASURES} PATTERN (A X*? B) WITHIN INTERVAL '8' SECOND "
    "DEFINE A AS price > 5, B AS name = 'd' AND price < A.price",
    f"PARTITION BY key {MEASURES} AFTER MATCH SKIP TO NEXT ROW PATTERN (X DOWN+) DEFINE DOWN AS price < PREV(price)",
    f"PARTITION BY key {MEASURES} PATTERN (A B) DEFINE A AS NEXT(name) = 'd', B AS SUM(price) > 9",
    f"PARTITION BY key {MEASURES} PATTERN (A{{2}} | B C) DEFINE A AS price > 7, B AS MATCH_NUMBER() < 9",
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
        for name, texts in (("one", TEXTS), ("two", ROW_TEXTS)):
            self._write(name, chance.choice(texts))

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
        return self.chance.choice([text for text in (*TEXTS, *ROW_TEXTS) if text not in self.texts.values()])

    def _write(self, name: str, text: str) -> None:
        self.texts[name] = text
        written = f'pattern = "{text}"\npartition_by = "key"\n'
        file = self.place / f"{name}.toml"
        if not file.exists() or file.read_text() != written:
            file.write_text(written)


def outcome(
    place: Path, seed: int, batches: int, kills: int, crashes: int, changes: int, of_workers: bool = False
) -> Outcome:
    """One life of a stream, from its first start to its end. With `of_workers` its Python workers are killed, else the
    driver with its JVM."""
    chance = random.Random(seed)
    write_events(place, seed, batches)
    rules = Rules(place / "rules", chance)
    for batch in chance.sample(range(2, batches - 2), crashes):
        (place / f"crash-{batch}").touch()
    feed = Feed(place, rules, [(number + 1) * (batches - 2) // (changes + 1) for number in range(changes)])
    killed = _run(place, feed, chance, kills, of_workers)
    return Outcome(killed, len(registries(place)), compare_rules(place, batches))


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
        known = noted(self.place)
        if len(registries(self.place)) <= self.sets:  # the last change has not been taken up
            return
        is_last = self.done == len(self.steps)
        up_to = len(self.files) if is_last else self.steps[self.done]
        for file in self.files[self.given : up_to]:
            (self.place / "waiting" / file.name).rename(file)
            self.given += 1
        if not known or known[-1].last_file + 1 < self.given or last_commit(self.place) < known[-1].batch:
            return
        if is_last:
            self.rules.mend()
            (self.place / "finish").touch()
        else:
            self.change()

    def change(self) -> None:
        """Change the rules, if there is a change left."""
        if self.done < len(self.steps):
            self.sets = len(registries(self.place))
            self.rules.change(self.done)
            self.done += 1


def _run(place: Path, feed: Feed, chance: random.Random, kills: int, of_workers: bool) -> int:
    in_all, log = 0, place / "log"
    while True:
        begun = len(log.read_text(errors="replace")) if log.exists() else 0
        before, limit = last_commit(place), float("inf")
        job = start(rules_job, place, [], surroundings(place))
        while job.poll() is None:
            feed.step()
            if kills and limit == float("inf") and last_commit(place) > before:
                limit = time.monotonic() + chance.uniform(0.0, 2.0 if of_workers else 3.0)
            if time.monotonic() >= limit:
                if not of_workers:
                    break
                found = worker_or_daemon(job.pid)
                is_killed = bool(found) and kill(chance.choice(found))
                in_all, kills = in_all + is_killed, kills - is_killed
                before, limit = last_commit(place), float("inf")
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
