"""FlinkCEP's answers to all queries: one JVM, FlinkCEP's own automaton, driven by the Java program beside this file.

In: queries, a version of Flink. Out: `Answer`s. Called by `run.py`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import flink
from ours import Answer, taken
from query_groups import STREAM, Query

SOURCES = Path(__file__).parent / "java"
LIMIT = 200_000
"""Tests of conditions that a query may take. The most that any query takes which ends is 17,395."""
PASSES = 2
"""All queries run so many times, so that the JVM has compiled what it wants to; the last time counts."""


def by_flink(version: str, queries: Sequence[Query], passes: int = PASSES) -> dict[str, Answer]:
    """All queries, one after the other. Those that take more tests than they may are endless, and have no matches."""
    command = flink.command(SOURCES, flink.jars(version), "FlinkAnswers", LIMIT, passes, memory="2g")
    lines = [json.dumps(STREAM), *(json.dumps({"id": query.id, "pattern": query.pattern}) for query in queries)]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
    if done.returncode:
        raise flink.NoFlink(f"FlinkCEP {version} failed:\n{done.stderr}")
    answers = {}
    for line in done.stdout.splitlines():
        said = json.loads(line)
        matches = tuple(taken(match) for match in said["matches"])
        answers[said["id"]] = Answer(matches, said["cpu_us"] / 1000, said.get("endless", False))
    return answers
