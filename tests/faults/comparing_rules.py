"""What a stream of rules that come, change and go has left behind, against a stream of its own for each rule.

In: the place of a job of `rules_job.py` that has ended. Out: what is wrong, in words. Which rules a micro-batch ran
with was noted by the job (generations) and is kept in the checkpoint (registries). Each instance of a rule is compared
with the operator of patterns, or the bucket of row patterns, over the micro-batches of its lifetime.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from faults.comparing import rows_of
from spark.stream.operator_stream import OperatorStream
from spark.stream.row_stream import RowStream

from cepheid.rows.row_rules import in_set
from cepheid.rule import AnyRule, RowRule, Rule
from cepheid.spark.rules.registry import Registry
from cepheid.spark.rules.texts import read

DELAY_MS = 3_000
ORDER = ("ts", "id")
SCHEMA = pa.schema(
    [("key", pa.string()), ("ts", pa.timestamp("us")), ("id", pa.int64()), ("name", pa.string()), ("price", pa.int64())]
)
EPOCH = datetime(1970, 1, 1)


def registries(place: Path) -> dict[int, Registry]:
    """By generation, which rules ran."""
    lines = [
        line for file in (place / "checkpoint/cepheid/rules").glob("part-*") for line in file.read_text().splitlines()
    ]
    return {one.generation: one for one in map(Registry.from_json, lines)}


@dataclass(frozen=True, slots=True, order=True)
class Noted:
    """What the job has noted of a micro-batch."""

    batch: int
    generation: int
    last_file: int


def noted(place: Path) -> list[Noted]:
    """The micro-batches with events, in order."""
    texts = {file.name: file.read_text() for file in (place / "generations").glob("*")}
    return sorted(Noted(int(name), *map(int, text.split())) for name, text in texts.items() if text)


def compare_rules(place: Path, files: int) -> list[str]:
    """What is wrong with the matches of a stream that read so many files of events."""
    known = registries(place)
    steps = noted(place)
    batches = len(steps)
    if steps[-1].last_file + 1 != files:
        return [f"{steps[-1].last_file + 1} files were read, of {files}"]
    events = _events(place, [step.last_file for step in steps])
    last = known[max(known)]
    lives: dict[str, list[int]] = {}
    rules: dict[str, AnyRule] = {}
    for batch in range(batches):
        for one in known[steps[batch].generation].running:
            lives.setdefault(one.instance, []).append(batch)
            rules[one.instance] = read(one.text)
    least, most = Counter[Any](), Counter[Any]()
    for instance, lived in lives.items():
        rule = rules[instance]
        is_alive = any(one.instance == instance for one in last.running)
        if lived != list(range(lived[0], lived[-1] + 1)):
            return [f"{rule} lived in the micro-batches {lived}"]
        own = _alone(rule, events, lived, is_alive)
        least += Counter({(rule.name, match): 1 for match in own})
        # time may have moved on without events; and a micro-batch that was written, not committed, and replayed
        # without the rule may have left its rows
        longer = lived if lived[-1] + 1 == batches else [*lived, lived[-1] + 1]
        further = own if is_alive else own | _alone(rule, events, longer, lived is longer)
        most += Counter({(rule.name, match): 1 for match in further})
    matches = rows_of(place / "matches")
    found = Counter((row["rule"], _told(row)) for row in matches)
    compared = {_is_pattern(match) for match in matches}
    kinds = {"patterns": True, "row patterns": False}
    problems = [
        f"no matches of {name} to compare: the test shows nothing" for name in kinds if kinds[name] not in compared
    ]
    if least - found:
        problems.append(f"{(least - found).total()} matches lost: {list((least - found).items())[:3]}")
    if found - most:
        problems.append(f"{(found - most).total()} matches too many: {list((found - most).items())[:3]}")
    return problems


def _is_pattern(match: dict[str, Any]) -> bool:
    """Only row patterns have measures here."""
    return not match["measures"]


def _told(match: dict[str, Any]) -> Any:
    """What tells a match from the others of its rule, and what a row pattern has computed of it."""
    return match["match_id"] if _is_pattern(match) else (match["key"], *(value for _, value in match["measures"]))


def _alone(rule: AnyRule, events: list[pa.Table], lived: list[int], to_the_end: bool) -> set[Any]:
    """What a stream of its own finds in some micro-batches, with the watermarks of the whole stream."""
    if isinstance(rule, RowRule):
        return _rows_alone(rule, events, lived, to_the_end)
    return _pattern_alone(rule, events, lived, to_the_end)


def _pattern_alone(rule: Rule, events: list[pa.Table], lived: list[int], to_the_end: bool) -> set[Any]:
    stream = OperatorStream(rule.tree, SCHEMA, rule.partition_by, ORDER, timeouts=False)
    for batch in lived:
        stream.batch(events[batch], _watermark_ms(events, batch))
    if to_the_end:
        stream.end()
    assert not stream.found["late"]
    return {row["match_id"] for row in stream.found["matches"]}


def _rows_alone(rule: RowRule, events: list[pa.Table], lived: list[int], to_the_end: bool) -> set[Any]:
    stream, found = RowStream(str(in_set(rule.clause, ORDER)), SCHEMA), []
    for batch in lived:
        found += stream.step(events[batch], 1_000 * _watermark_ms(events, batch))
    if to_the_end:
        found += stream.end()
    told = {(row.pop("key"), *map(str, row.values())) for row in found}
    assert len(told) == len(found)  # the measures tell matches apart
    return told


def _watermark_ms(events: list[pa.Table], batch: int) -> int:
    """That of a micro-batch."""
    seen = [pc.max(table["ts"]).as_py() for table in events[:batch] if table.num_rows]
    newest = max(seen, default=EPOCH) - EPOCH
    return max(0, int(newest / timedelta(milliseconds=1)) - DELAY_MS)


def _events(place: Path, last_files: list[int]) -> list[pa.Table]:
    """The events of each micro-batch whose time can be used."""
    made = []
    for first, last in pairwise([-1, *last_files]):
        texts = [(place / "in" / f"{number:04}.json").read_text() for number in range(first + 1, last + 1)]
        rows = [json.loads(line) for text in texts for line in text.splitlines()]
        usable = [{**row, "ts": datetime.fromisoformat(row["ts"])} for row in rows if str(row["ts"]).startswith("2025")]
        made.append(pa.Table.from_pylist(usable, SCHEMA))
    return made
