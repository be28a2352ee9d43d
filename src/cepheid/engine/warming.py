"""Having the kernel compiled in advance and kept on disk, so that other processes of this machine find it there.

In: which parts. Out: nothing. Called by `cepheid prepare`, the demo, and the process that compiles beside a job
(`compiled_code`); a worker never imports this.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cepheid.automaton.construction import build
from cepheid.conditions import bind
from cepheid.engine.columns import columns_of
from cepheid.engine.compiled_code import Part
from cepheid.engine.kernel.entrances import patience
from cepheid.engine.kernel.hashing import hexadecimal, mixed, sums_of_matches
from cepheid.engine.matcher import Matcher, match_partitions
from cepheid.engine.row_measures import compile_measures
from cepheid.engine.row_patterns import match_rows
from cepheid.engine.row_values import RowValues
from cepheid.engine.sorting import grouped_by_time
from cepheid.engine.tables.model import Options
from cepheid.engine.tables.row_patterns import tabulate as tabulate_rows
from cepheid.engine.tables.tabulate import tabulate
from cepheid.rowpattern.binding import BoundRowPattern
from cepheid.rowpattern.model import RowPattern
from cepheid.rowpattern.model import Variable as RowVariable
from cepheid.syntax.tree import Element, Link, PatternTree, Sequence, Variable


def warm_up(*parts: Part) -> None:
    """Have these parts of the kernel compiled; what most patterns need if none is named."""
    with patience(0):
        for part in parts or ("main",):
            if part == "rows":
                _row_patterns()
            else:
                _patterns(is_compact=part == "compact")


def _patterns(is_compact: bool) -> None:
    """What every match needs comes first, then the rest of what streams need."""
    elements = (Element(Link.BEGIN, Variable("a")), Element(Link.FOLLOWED_BY, Variable("b")))
    tree = PatternTree(Sequence(elements))
    time, bits, bounds = np.zeros(1, np.int64), np.ones(1, np.uint64), np.array([0, 1])
    tables = tabulate(build(tree, bind(tree, None)), Options(compact=is_compact))
    events = columns_of(time, bits, [], tables)
    match_partitions(tables, events, bounds)
    grouped_by_time(time, 1, time)
    hexadecimal(sums_of_matches(mixed(bits), bits, bounds))
    matcher = Matcher(tables)
    matcher.feed(events, bounds, np.zeros(1, np.int64))
    matcher.advance(1)
    matcher.waiting()
    matcher.keep()
    matcher.index()


def _row_patterns() -> None:
    tables = tabulate_rows(BoundRowPattern(RowPattern(RowVariable("A")), None, (), (), (), {}))
    rows = RowValues(pa.table({"row": [0]}), np.array([0, 1]))
    compile_measures(match_rows(tables, rows, None, str), rows.bounds)
