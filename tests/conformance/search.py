"""Look for cases on which the kernel and the reference differ: `python tests/conformance/search.py --cases 50000`.

New cases each time (`--seed` repeats a search), biased to corners, to what cohorts are for and to equalities
(`corner_cases.WRITERS`), a third of them each. Each is run by the kernel with and without timeouts, with cohorts where
they pay, wherever they are sound and nowhere, with and without dominance, whole and in parts whose state is saved in
between, alone and beside other partitions, in little memory and in enough; matches, their order and moments, and
timeouts must be those of the reference, and the kernel's invariants must hold (`engine.runs.invariants`). Prints counts
as it goes; a difference is shrunk to a short case, printed as a line for a file of probes with the reference's answer,
and makes the exit code 1.
`examine` is what the tests ask of fewer cases, the same ones in every run (`tests/engine/test_corners.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ.setdefault("CEPHEID_DEBUG", "1")

import pyarrow as pa
from conformance.cases import pattern_tree
from conformance.corner_cases import SCHEMA, WRITERS, Json, random_case, shorter
from engine.kernel_answers import outcome_beside_others, outcome_in_little_memory, outcome_in_parts, outcome_of

from cepheid.automaton.construction import build
from cepheid.automaton.model import Automaton
from cepheid.conditions import bind
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.representation import NotCompiled
from cepheid.errors import SkipError
from cepheid.reference.online import OnlineEvaluator
from cepheid.reference.outcome import Outcome

SHOWN_EVERY = 2_500
"""Cases between two lines of counts."""


class Different(AssertionError):
    """The engines do not say the same."""


def table_of(case: Json) -> pa.Table:
    columns = ("t", "id", "name", "price")
    return pa.table({name: [event[name] for event in case["events"]] for name in columns})


def automaton_of(case: Json) -> Automaton:
    tree = pattern_tree(case["pattern"])
    return build(tree, bind(tree, SCHEMA))


def reference_outcome(automaton: Automaton, table: pa.Table, case: Json) -> Outcome | type[SkipError]:
    evaluator = OnlineEvaluator(automaton)
    try:
        for row in table.to_pylist():
            evaluator.handle(row, row["t"])
        if "advance_to" in case:
            evaluator.advance_time(case["advance_to"])
        if case.get("end_of_input"):
            evaluator.end_of_input()
    except SkipError:
        return SkipError
    return Outcome(tuple(evaluator.matches), tuple(evaluator.timeouts))


def examine(case: Json) -> str:
    """What kind of case this is, for the counts; raises `Different`."""
    table = table_of(case)
    automaton = automaton_of(case)
    expected = reference_outcome(automaton, table, case)
    chance = random.Random(len(case["events"]) + len(json.dumps(case["pattern"])))
    finish = (case.get("advance_to"), bool(case.get("end_of_input")))
    for timeouts in (False, True):
        wanted = expected
        if isinstance(expected, Outcome) and not timeouts:
            wanted = Outcome(expected.matches, ())
        ways = [
            ("whole", outcome_of, Options(timeouts=timeouts)),
            ("in parts", outcome_in_parts(chance), Options(timeouts=timeouts)),
        ]
        if not timeouts:
            ways.append(("without cohorts", outcome_of, Options(compact=False)))
            ways.append(("without dominance", outcome_of, Options(compact=False, dominance=False)))
            # Where cohorts are sound and do not pay, runs are chosen: so both are asked, wherever either may be wrong.
            shared = Options(compact=True)
            ways.append(("with all cohorts", outcome_of, shared))
            ways.append(("with all cohorts, in parts", outcome_in_parts(chance), shared))
            ways.append(("in little memory", outcome_in_little_memory(chance), chance.choice((Options(), shared))))
            if not any(position.endings for position in automaton.positions):
                ways.append(("beside others", outcome_beside_others(chance), chance.choice((Options(), shared))))
        for name, way, options in ways:
            try:
                found: object = cast(Any, way)(automaton, table, options, *finish)
            except NotCompiled:
                return "not for the kernel"
            except SkipError:
                found = SkipError
            if found != wanted:
                kind = "with timeouts" if timeouts else "without timeouts"
                raise Different(f"{name}, {kind}:\n  expected {wanted}\n  found    {found}")
    if not isinstance(expected, Outcome):
        return "skip errors"
    return "with matches" if expected.matches else "with timeouts only" if expected.timeouts else "without either"


def as_probe(case: Json, title: str) -> str:
    """A case as a line of a corpus, with the reference's answer."""
    table = table_of(case)
    outcome = reference_outcome(automaton_of(case), table, case)
    line: Json = {"id": "corner-probe:new", "title": title, **case}
    if not isinstance(outcome, Outcome):
        line["fails"] = "or_fail"
    else:
        line["matches"] = [_taken(case, match.taken) for match in outcome.matches]
        line["timeouts"] = [{"partial": _taken(case, t.taken), "at": t.at} for t in outcome.timeouts]
    return json.dumps(line)


def _taken(case: Json, taken: tuple[tuple[int, str], ...]) -> dict[str, list[int]]:
    by_variable: dict[str, list[int]] = {}
    for index, variable in taken:
        by_variable.setdefault(variable, []).append(case["events"][index]["id"])
    return by_variable


def difference(case: Json) -> Different | None:
    try:
        examine(case)
    except Different as found:
        return found
    return None


def shrunk(case: Json) -> Json:
    """The shortest case to be reached by leaving out one thing after the other, on which there is a difference."""
    while (less := next((one for one in shorter(case) if one["events"] and difference(one)), None)) is not None:
        case = less
    return case


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--about", choices=(*WRITERS, "all"), default="all")
    parser.add_argument("--seed", type=int, default=None, help="default: another one each time")
    arguments = parser.parse_args()
    first = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(2**32)
    print(f"seed {first}", flush=True)
    total: Counter[str] = Counter()
    differences = 0
    begun = time.perf_counter()
    chance = random.Random(first)
    for number in range(1, arguments.cases + 1):
        about = arguments.about if arguments.about != "all" else chance.choice(tuple(WRITERS))
        case = random_case(chance, about)
        try:
            total[examine(case)] += 1
        except Different:
            differences += 1
            short = shrunk(case)
            print(f"DIFFERENT {difference(short)}\n{as_probe(short, 'kernel and reference')}", flush=True)
        if number % SHOWN_EVERY == 0:
            shown = ", ".join(f"{count} {kind}" for kind, count in total.most_common())
            print(f"{number} cases ({shown}), {time.perf_counter() - begun:.0f} s", flush=True)
    print(f"{total.total()} cases the same, {differences} different")
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
