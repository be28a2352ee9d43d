"""The 13,482 queries of the formal-semantics paper, set-up included, beside the published prototype's times."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
from measuring import Settings
from reporting import Column, Section

from cepheid.automaton.construction import build
from cepheid.conditions import Schema, bind
from cepheid.engine.assignments import Assignments
from cepheid.engine.columns import columns
from cepheid.engine.kernel.layout import AS_IT_IS
from cepheid.engine.matcher import match_partitions
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.tabulate import tabulate
from cepheid.rows.arrange import arrange
from cepheid.syntax.validation import check

CONFORMANCE = Path(__file__).parents[1] / "tests" / "conformance"
sys.path.append(str(CONFORMANCE))

from cases import Case, assignment, read  # noqa: E402

PUBLISHED = {"NOGP": 1.94, "SLGP": 4.94, "LGP": 14.02, "SLGGP": 11.12, "all": 9.56}
"""The prototype's average milliseconds a query."""
SHARE = 1 / 5
"""Of the prototype's time, what may be needed at most."""
STAGES = ("tree", "conditions", "automaton", "tables", "events", "kernel")
UNCACHED = 300
"""Queries of the sample in which nothing is remembered from one query to the next."""


def run(case: Case, spent: dict[str, float]) -> tuple[tuple[str, ...], Assignments]:
    """One query from its JSON to its matches; adds up what each stage took."""
    clock = time.process_time
    moments = [clock()]
    tree = case.tree
    check(tree)
    moments.append(clock())
    rows = case.events
    table = pa.table({name: pa.array([row[name] for row in rows]) for name in rows[0]})
    bound = bind(tree, Schema.from_arrow(table.schema))
    moments.append(clock())
    automaton = build(tree, bound)
    moments.append(clock())
    tables = tabulate(automaton, Options())
    moments.append(clock())
    events = arrange(table, (), ("t",))
    read_columns = columns(events, tables)
    moments.append(clock())
    found, _ = match_partitions(tables, read_columns, events.bounds, AS_IT_IS)
    moments.append(clock())
    for stage, seconds in zip(STAGES, np.diff(moments), strict=True):
        spent[stage] += float(seconds)
    return automaton.variables, found


def is_right(case: Case, variables: tuple[str, ...], found: Assignments) -> bool:
    """Whether the matches are the expected ones."""
    matches: list[dict[str, list[int]]] = [defaultdict(list) for _ in found.at]
    events = case.events
    for match, variable, row in zip(found.match, found.variable, found.row, strict=True):
        matches[match][variables[variable]].append(events[row]["id"])
    answers = frozenset(assignment(match) for match in matches)
    return answers == case.matches and len(answers) == len(matches)


def forget() -> None:
    """Empty every cache of the package, so that conditions are parsed for the first time again."""
    for name, module in list(sys.modules.items()):
        if name.startswith("cepheid"):
            for member in vars(module).values():
                if hasattr(member, "cache_clear"):
                    member.cache_clear()


def measure(settings: Settings) -> Section:
    """One row a group of queries, one for all, and one in which nothing is remembered."""
    section = Section(
        "queries",
        "queries: the formal-semantics paper's, on 9 events, set-up included (average CPU ms a query)",
        (
            Column("group", "group"),
            Column("queries", "queries"),
            *(Column(stage, stage, 3) for stage in STAGES),
            Column("milliseconds", "total", 3),
            Column("prototype", "prototype"),
            Column("share", "share", 3),
            Column("bar", "bar", 3),
            Column("reached", "reached"),
            Column("right", "right"),
        ),
        notes=[
            f"Median of {settings.repeat} passes; each begins with empty caches, so that the first parse of a "
            "condition counts (the corpus repeats its conditions). The kernel is loaded already (see start).",
            "tree: from the query's JSON, checked. conditions: the events as an Arrow table, parse and bind. events: "
            "sort, tests. The published times were taken on another machine.",
        ],
    )
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in read(CONFORMANCE / "paper.jsonl.gz"):
        groups[case.id.split(":")[1].split("/")[0]].append(case)
    if settings.smoke:
        groups = {name: cases[:: max(1, len(cases) // 20)] for name, cases in groups.items()}
    everything = [case for name in PUBLISHED if name != "all" for case in groups[name]]
    run(everything[0], defaultdict(float))
    wrong = {case.id for case in everything if not is_right(case, *run(case, defaultdict(float)))}
    passes: list[dict[str, dict[str, float]]] = []
    for _ in range(settings.repeat):
        forget()
        spent: dict[str, dict[str, float]] = {name: defaultdict(float) for name in PUBLISHED}
        for name in spent:
            for case in groups.get(name, []):
                run(case, spent[name])
            for stage in STAGES:
                spent["all"][stage] += spent[name][stage] if name != "all" else 0.0
        passes.append(spent)
    for name, published in PUBLISHED.items():
        cases = everything if name == "all" else groups[name]
        section.rows.append(
            _row(name, cases, [spent[name] for spent in passes], published, wrong, judged=not settings.smoke)
        )
    sample = everything[:: max(1, len(everything) // (20 if settings.smoke else UNCACHED))]
    alone: dict[str, float] = defaultdict(float)
    for case in sample:
        forget()
        run(case, alone)
    section.rows.append(
        _row("all, nothing remembered", sample, [alone], PUBLISHED["all"], wrong, judged=not settings.smoke)
    )
    return section


def _row(
    name: str, cases: list[Case], passes: list[dict[str, float]], published: float, wrong: set[str], judged: bool
) -> dict[str, Any]:
    stages = {stage: 1000 * median(spent[stage] for spent in passes) / len(cases) for stage in STAGES}
    total = 1000 * median(sum(spent.values()) for spent in passes) / len(cases)
    return {
        "group": name,
        "queries": len(cases),
        **stages,
        "milliseconds": total,
        "prototype": published,
        "share": total / published,
        "bar": SHARE,
        "reached": total / published <= SHARE if judged else None,
        "right": not wrong & {case.id for case in cases},
    }
