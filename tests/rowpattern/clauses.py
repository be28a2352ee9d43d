"""Random MATCH_RECOGNIZE clauses and rows, biased to where the matcher could break: parts that may be empty inside
loops, variables that share rows, conditions that read the start, labels and aggregates of the match."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

VARIABLES = ("A", "B", "C", "D")
SUBSET = "SUBSET U = (A, B)"
ROW = ("{0}.v > 1", "v % 2 = 0", "{0}.s = 'x'", "{0}.w >= 0", "v IS NULL", "{0}.v <> 3 OR {0}.s < 'y'", "TRUE")
NEIGHBOURS = ("{0}.v > PREV({0}.v)", "v <= NEXT(v, 2)", "PREV(s) = {0}.s", "COALESCE({0}.w < PREV(w), TRUE)")
START = (
    "v >= FIRST(v)",
    "{0}.v > LAST(v, 1)",
    "COUNT(*) < 4",
    "SUM(v) <= 6",
    "AVG(w) > 0",
    "MATCH_NUMBER() % 2 = 1",
    "MATCH_NUMBER() < 3",
    "MAX(s) > 'x'",
    "PREV(FIRST(v, 1), 1) IS NOT NULL",
    "CAST(v AS DOUBLE) / COUNT(v) < 2",
)
LABELS = (
    "{0}.v > A.v",
    "v <> LAST({0}.v, 1)",
    "FIRST(B.v, 1) < v",
    "COUNT({0}.*) <= 2",
    "SUM(U.v) < 5",
    "MIN(A.w) <= {0}.w",
    "LAST(CLASSIFIER(), 1) = 'A'",
    "PREV(CLASSIFIER()) <> 'B'",
    "NEXT(LAST(B.v, 1), 1) > 0",
    "LAST(U.v) = v OR B.s >= {0}.s",
    "COUNT(CASE WHEN CLASSIFIER() = 'A' THEN v END) < 2",
    "CLASSIFIER(U) = 'A' OR LAST(10 / (U.v + 7)) > 1",
    "UPPER(A.s) = 'X' OR COALESCE(UPPER(B.s), 'Z') = 'Z'",
    "CONCAT(B.s, '-', CAST(B.v AS STRING)) <> 'x-1'",
)
MEASURES = (
    "MATCH_NUMBER()",
    "CLASSIFIER()",
    "COUNT(*)",
    "COUNT(B.*)",
    "FINAL SUM(v)",
    "RUNNING AVG(U.v)",
    "A.v",
    "v",
    "FIRST(A.v, 1)",
    "FINAL LAST(B.s, 1)",
    "PREV(v, 2)",
    "NEXT(FINAL LAST(U.v), 1)",
    "PREV(CLASSIFIER())",
    "NEXT(CLASSIFIER())",
    "FINAL FIRST(CLASSIFIER(U))",
    "MIN(s)",
    "FINAL MAX(A.w)",
    "ARRAY_AGG(CLASSIFIER())",
    "COLLECT_LIST(A.v)",
    "COUNT(DISTINCT s)",
    "STDDEV(U.v)",
    "COALESCE(A.v, -1) + COUNT(U.v)",
    "SUM(CASE WHEN CLASSIFIER() = 'B' THEN v END)",
    "LAST(CLASSIFIER() || s)",
    "FINAL BOOL_AND(v > 0)",
)


def patterns(depth: int = 3) -> st.SearchStrategy[str]:
    leaves = st.sampled_from([*VARIABLES, *VARIABLES, "()", "^", "$"])
    quantifiers = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{,2}?", "{2,}", "{0,1}"])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(" ".join).map("({})".format),
            st.lists(inner, min_size=2, max_size=3).map(" | ".join).map("({})".format),
            st.tuples(inner, quantifiers).map(lambda pair: f"({pair[0]}){pair[1]}"),
            st.lists(inner, min_size=2, max_size=2).map(", ".join).map("PERMUTE({})".format),
        ),
        max_leaves=2**depth,
    )


@st.composite
def clauses(draw: st.DrawFn) -> str:
    pattern = draw(patterns())
    present = [name for name in VARIABLES if name in pattern]
    # Every variable that a condition may name occurs, after the part under test.
    needed = " ".join(f"{name}?" for name in ("A", "B") if name not in present)
    kinds = draw(st.sampled_from([ROW, (*ROW, *NEIGHBOURS), (*ROW, *START), (*ROW, *START, *LABELS), LABELS]))
    defines = []
    for name in (*present, *(name for name in ("A", "B") if name not in present)):
        count = draw(st.integers(0, 2))
        if count:
            parts = [draw(st.sampled_from(kinds)).format(name) for _ in range(count)]
            defines.append(f"{name} AS {draw(st.sampled_from([' AND ', ' OR '])).join(f'({part})' for part in parts)}")
    rows = draw(
        st.sampled_from(
            [
                "ONE ROW PER MATCH",
                "ALL ROWS PER MATCH",
                "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
                "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
            ]
        )
    )
    if draw(st.booleans()) and "UNMATCHED" not in rows:
        pattern = f"{{- {pattern} -}}"
    skips = ["PAST LAST ROW", "TO NEXT ROW", "PAST LAST ROW", "TO NEXT ROW", "TO FIRST U", "TO LAST B", "TO A"]
    measures = draw(st.lists(st.sampled_from(MEASURES), min_size=1, max_size=5))
    listed = ", ".join(f"{measure} AS m{number}" for number, measure in enumerate(measures))
    return (
        f"PARTITION BY p ORDER BY t MEASURES {listed} {rows} AFTER MATCH SKIP {draw(st.sampled_from(skips))} "
        f"PATTERN ({pattern} {needed}) {SUBSET}" + (f" DEFINE {', '.join(defines)}" if defines else "")
    )


@st.composite
def tables(draw: st.DrawFn, most: int = 10) -> pa.Table:
    values: dict[str, st.SearchStrategy[Any]] = {
        "p": st.sampled_from(["k", "l"]),
        "v": st.none() | st.integers(0, 4),
        "s": st.none() | st.sampled_from("xyz"),
        "w": st.sampled_from([-1.0, 0.0, 0.5, float("nan")]) | st.none(),
    }
    rows = draw(st.lists(st.fixed_dictionaries(values), min_size=1, max_size=most))
    kinds = {"p": pa.string(), "v": pa.int64(), "s": pa.string(), "w": pa.float64()}
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()}
    return pa.table({"t": pa.array(range(len(rows)), pa.int64()), **columns})
