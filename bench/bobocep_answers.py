"""BoboCEP on events from a file: `python bench/bobocep_answers.py QUERY EVENTS.json WINDOW`.

Runs in an environment where `bobocep` is installed and Cepheid is not; see `python_peer`. BoboCEP has neither keys nor
windows of time, so each key has an engine of its own, and a run is halted by the first event outside of its window.
Prints the number of matches, the sums of their first and last times, and the CPU seconds as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from bobocep.cep.action.handler import BoboActionHandlerBlocking
from bobocep.cep.engine.engine import BoboEngine
from bobocep.cep.engine.producer.pubsub import BoboProducerSubscriber
from bobocep.cep.phenom.pattern.builder import BoboPatternBuilder
from bobocep.cep.phenom.phenom import BoboPhenomenon
from bobocep.setup.simple import BoboSetupSimple


class Counted(BoboProducerSubscriber):  # type: ignore[misc]
    """What all engines have found."""

    def __init__(self) -> None:
        self.matches = self.starts = self.ends = 0

    def on_producer_update(self, event: Any, local: bool = True) -> None:
        times = [taken.data["ts"] for taken in event.history.all_events()]
        self.matches += 1
        self.starts += min(times)
        self.ends += max(times)


def engine(query: str, window: int) -> BoboEngine:
    """An engine for one key."""

    def is_type(number: int) -> Any:
        return lambda event, history: event.data["type"] == number

    def is_outside(event: Any, history: Any) -> bool:
        first = history.all_events()[0]  # first() goes by the clock on the wall, where events of one run may tie
        return bool(event.data["ts"] - first.data["ts"] >= window)

    builder = BoboPatternBuilder(query).next(is_type(0))
    if query == "strict":
        builder = builder.next(is_type(1)).next(is_type(2))
    else:
        builder = builder.followed_by(is_type(1)).followed_by(is_type(2)).haltcondition(is_outside)
    phenomenon = BoboPhenomenon(name=query, patterns=[builder.generate()])
    return BoboSetupSimple([phenomenon], BoboActionHandlerBlocking()).generate()


def main(query: str, file: str, window: str) -> None:
    events = json.loads(Path(file).read_text(encoding="utf-8"))
    found = Counted()
    engines: dict[int, BoboEngine] = {}
    begun = time.process_time()
    for event in events:
        key = event["key"]
        if key not in engines:
            engines[key] = engine(query, int(window))
            engines[key].producer.subscribe(found)
        engines[key].receiver.add_data(event)
        engines[key].update()
    cpu = time.process_time() - begun
    print(json.dumps({"matches": found.matches, "starts": found.starts, "ends": found.ends, "cpu": cpu}))


if __name__ == "__main__":
    main(*sys.argv[1:])
