"""Limits of memory: they end in an error that names the partition and the remedy, before the memory is gone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from cepheid import LimitError, Pattern
from cepheid.engine import limits
from cepheid.engine.tables.model import Options
from cepheid.rows.in_memory import match_rows

EVERYTHING = Pattern.begin("a").one_or_more().allow_combinations()
MIB = 2**20


def found(pattern: Pattern, events: int, **options: int) -> int:
    table = pa.table({"k": ["x"] * events, "t": range(events)})
    return int(match_rows(pattern.tree, table, ("k",), ("t",), Options(**options)).matches_table.num_rows)


def test_partial_matches_that_explode_end_in_an_error_that_names_the_place() -> None:
    waiting = EVERYTHING.followed_by("b").where("t < 0")
    with pytest.raises(
        LimitError,
        match=r"(?s)event at k = 'x', t = \d+: \d+ partial matches wait there, most of them for 'a'.*"
        r"max_state_bytes given is 4 MiB.*past_last_event",
    ):
        found(waiting, 40, max_state_bytes=4 * MIB, compact=False)
    assert found(waiting, 40, max_state_bytes=4 * MIB) == 0  # the same 2^40 partial matches, kept as one


def test_so_do_matches_that_are_not_handed_over_yet() -> None:
    singles = Pattern.begin("a")
    assert found(singles, 100_000, max_state_bytes=16 * MIB) == 100_000
    with pytest.raises(LimitError, match=r"what was found takes \d+ MiB; max_state_bytes given is 16 MiB"):
        found(singles, 1_000_000, max_state_bytes=16 * MIB)


def test_the_limit_is_near_what_is_really_taken() -> None:
    """Memory grows by what is needed, not by far more: 2^14 matches of 7 events on average, and as many runs."""
    assert found(EVERYTHING, 14, max_state_bytes=16 * MIB) == 2**14 - 1


def test_without_a_limit_given_a_share_of_the_memory_is_allowed() -> None:
    assert limits.state_limit(5) == 5
    assert limits.state_limit(None) == limits.available_memory() // limits.SHARE


def test_the_memory_of_a_container_counts(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("0::/pod/worker\n")
    root = tmp_path / "cgroup"
    (root / "pod" / "worker").mkdir(parents=True)
    (root / "pod" / "worker" / "memory.max").write_text("max\n")
    (root / "pod" / "memory.max").write_text("4096\n")
    assert list(limits._of_control_groups(root, own)) == [4096]
    own.write_text("5:memory:/box\n3:cpu:/box\n")
    (root / "memory" / "box").mkdir(parents=True)
    (root / "memory" / "box" / "memory.limit_in_bytes").write_text("8192\n")
    assert list(limits._of_control_groups(root, own)) == [8192]
    assert list(limits._of_control_groups(root, tmp_path / "missing")) == []
