"""The formal-semantics paper's experiment with the real FlinkCEP: `python experiments/semantics/run.py`.

All 13,482 queries run on Cepheid, in one Spark job, and on FlinkCEP. Prints the paper's table 1 beside the published
figures, names the reason of every difference, and draws its figure 3. The exit status is 1 if a difference has no
known reason, or if our answer is not that of the formal semantics.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "bench"))

from differences import Difference, Equality, difference, equality  # noqa: E402
from ours import Answer, on_spark, taken  # noqa: E402
from query_groups import GROUPS, STREAM, Query, all_queries  # noqa: E402
from reporting import Column, Section, as_json, as_markdown, environment, headline, show  # noqa: E402
from rich.console import Console  # noqa: E402
from sessions import benchmark_spark  # noqa: E402
from theirs import by_flink  # noqa: E402

PUBLISHED = {"NOGP": (378, 0), "SLGP": (3_024, 0), "LGP": (563, 445), "SLGGP": (7_483, 1_589)}
"""Queries with the same and with a different result, in the paper."""
PUBLISHED_TIMES = {"NOGP": (1.94, 60.69), "SLGP": (4.94, 147.49), "LGP": (14.02, 77.15), "SLGGP": (11.12, 306.51)}
"""Average milliseconds a query in the paper: its prototype, and FlinkCEP with a Flink job around each query."""
VERSIONS = ("1.16.1", "2.3.0")
SMOKE_STEP = 97
Answers = dict[str, Answer]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--flink",
        nargs="*",
        default=list(VERSIONS),
        metavar="VERSION",
        help=f"versions of Flink to ask ({' '.join(VERSIONS)}); with none named, FlinkCEP is left out",
    )
    parser.add_argument("--smoke", action="store_true", help=f"every {SMOKE_STEP}th query only")
    parser.add_argument("--json", type=Path, help="write the results as JSON")
    parser.add_argument("--markdown", type=Path, help="write the results as Markdown")
    parser.add_argument("--plots", type=Path, help="a directory for the picture")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    console = Console(width=None if Console().is_terminal else 200)
    facts = environment()
    console.print(headline(facts), highlight=False)
    queries = list(all_queries())[:: SMOKE_STEP if given.smoke else 1]
    with benchmark_spark() as spark:
        ours = on_spark(spark, queries, tasks=4)
    theirs = {version: by_flink(version, queries) for version in given.flink}
    sections = [formal(queries, ours)]
    if theirs:
        sections += [table_1(queries, ours, theirs), reasons(queries, ours, theirs)]
    sections.append(times(queries, ours, theirs))
    for section in sections:
        show(section, console)
    if given.json:
        given.json.write_text(json.dumps(as_json(facts, sections), indent=1, ensure_ascii=False), encoding="utf-8")
    if given.markdown:
        given.markdown.write_text(as_markdown(facts, sections), encoding="utf-8")
    if given.plots and theirs:
        from figure import draw

        given.plots.mkdir(parents=True, exist_ok=True)
        draw(queries, ours, theirs).savefig(given.plots / "semantics.png")
    return 0 if all(section.is_right for section in sections) else 1


def formal(queries: Sequence[Query], ours: Answers) -> Section:
    """Whether the queries are the recorded ones, and our answers those of the formal semantics."""
    section = Section(
        "formal",
        "formal: the generated queries, and our answers to them, beside the recorded cases",
        (
            Column("group", "group"),
            Column("queries", "queries"),
            Column("recorded", "as recorded"),
            Column("same", "same matches as the formal semantics"),
            Column("right", "right"),
        ),
    )
    recorded = {case["id"].removeprefix("paper:"): case for case in _recorded()}
    for group in GROUPS:
        of_group = [query for query in queries if query.group == group]
        as_recorded = same = 0
        for query in of_group:
            case = recorded[query.id]
            as_recorded += case["query"] == query.text and case["pattern"] == query.pattern and case["events"] == STREAM
            expected = sorted(taken(match) for match in case["matches"])
            same += sorted(ours[query.id].matches) == expected
        section.rows.append(
            {
                "group": group,
                "queries": len(of_group),
                "recorded": as_recorded,
                "same": same,
                "right": as_recorded == same == len(of_group),
            }
        )
    return section


def table_1(queries: Sequence[Query], ours: Answers, theirs: dict[str, Answers]) -> Section:
    """The paper's table 1, for each version of Flink."""
    section = Section(
        "table 1",
        "table 1: queries with the same result on Cepheid and on FlinkCEP",
        (
            Column("version", "FlinkCEP"),
            Column("group", "group"),
            Column("queries", "queries"),
            Column("published", "published: same / different"),
            Column("in_order", "in order: same / different"),
            Column("as_multisets", "as multisets"),
            Column("as_sets", "as sets"),
            Column("endless", "of the different: endless loops"),
            Column("right", "all explained"),
        ),
        notes=[
            "The published figures are of FlinkCEP 1.16.1 and the paper's prototype. A query on which FlinkCEP loops "
            "for ever counts as an empty result. Matches of one moment and one start have an order of their own here "
            "(rule 8), and a match is emitted once.",
        ],
    )
    for version, answers in theirs.items():
        for group in GROUPS:
            of_group = [query for query in queries if query.group == group]
            kinds = Counter(equality(ours[query.id], answers[query.id]) for query in of_group)
            unexplained = sum(
                difference(query, ours[query.id], answers[query.id]) is Difference.UNEXPLAINED for query in of_group
            )
            in_order = kinds[Equality.IN_ORDER]
            as_multisets = in_order + kinds[Equality.AS_MULTISETS]
            section.rows.append(
                {
                    "version": version,
                    "group": group,
                    "queries": len(of_group),
                    "published": _pair(*PUBLISHED[group]) if len(of_group) == GROUPS[group] else None,
                    "in_order": _pair(in_order, len(of_group) - in_order),
                    "as_multisets": _pair(as_multisets, len(of_group) - as_multisets),
                    "as_sets": _pair(len(of_group) - kinds[Equality.NOT], kinds[Equality.NOT]),
                    "endless": sum(answers[query.id].endless for query in of_group),
                    "right": unexplained == 0,
                }
            )
    return section


def reasons(queries: Sequence[Query], ours: Answers, theirs: dict[str, Answers]) -> Section:
    """How many differences each peculiarity of FlinkCEP explains."""
    section = Section(
        "differences",
        "differences: what explains them, confirmed query by query",
        (
            Column("reason", "FlinkCEP"),
            *(Column(f"{version} {group}", f"{version}: {group}") for version in theirs for group in GROUPS),
            Column("right", "right"),
        ),
        notes=[
            "Endless: FlinkCEP exceeded the limit of tests, and the query has a group without maximum that may take "
            "nothing. First element of a group: our engine finds FlinkCEP's very matches once the query is rewritten "
            "to say so. Copies: the same set, each match once here. Ties: the same matches at the same moments, "
            "those of one moment and one start in another order.",
        ],
    )
    counts: Counter[tuple[str, str, Difference]] = Counter()
    for version, answers in theirs.items():
        for query in queries:
            reason = difference(query, ours[query.id], answers[query.id])
            if reason is not None:
                counts[version, query.group, reason] += 1
    for reason in Difference:
        row = {f"{version} {group}": counts[version, group, reason] for version in theirs for group in GROUPS}
        right = not any(row.values()) if reason is Difference.UNEXPLAINED else None
        section.rows.append({"reason": reason.value, **row, "right": right})
    return section


def times(queries: Sequence[Query], ours: Answers, theirs: dict[str, Answers]) -> Section:
    """The average time a query takes, without those that never end."""
    section = Section(
        "times",
        "times: average CPU milliseconds a query, from its text to its matches",
        (
            Column("group", "group"),
            Column("ours", "Cepheid"),
            Column("prototype", "the paper's prototype, published"),
            Column("share", "share"),
            *(Column(version, f"FlinkCEP {version}") for version in theirs),
            Column("published", "FlinkCEP in a Flink job, published"),
        ),
        notes=[
            "Cepheid: in a Spark worker, from JSON text to rows, kernel loaded. FlinkCEP: from a parsed query to "
            "matches by its automaton alone, without a Flink job around it, in a JVM that has run all queries "
            "before; endless loops are left out. The published times were taken on another machine.",
        ],
    )
    for group, (prototype, published) in PUBLISHED_TIMES.items():
        of_group = [query.id for query in queries if query.group == group]
        average = mean(ours[name].milliseconds for name in of_group)
        row = {"group": group, "ours": average, "prototype": prototype, "share": average / prototype}
        for version, answers in theirs.items():
            row[version] = mean(answers[name].milliseconds for name in of_group if not answers[name].endless)
        section.rows.append({**row, "published": published})
    return section


def _recorded() -> list[dict[str, object]]:
    text = gzip.decompress((ROOT / "tests" / "conformance" / "paper.jsonl.gz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def _pair(same: int, different: int) -> str:
    return f"{same:,} / {different:,}"


if __name__ == "__main__":
    raise SystemExit(main())
