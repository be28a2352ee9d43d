"""What the kills of rules compare with: a match that is lost or doubled is told, of a pattern and of a row pattern."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'cepheid[spark]'")

from faults.comparing_rules import compare_rules, noted
from faults.kills import write_events
from faults.rule_kills import ROW_TEXTS, TEXTS

from cepheid import PatternSet
from cepheid.spark.rules.registry import Registry
from cepheid.spark.rules.texts import written

RULES = PatternSet({"pattern": TEXTS[0], "rows": ROW_TEXTS[2]}, partition_by="key")
SHOWN = pa.schema(
    [
        ("rule", pa.string()),
        ("key", pa.string()),
        ("match_id", pa.string()),
        ("measures", pa.map_(pa.string(), pa.string())),
    ]
)


def left_behind(place: Path) -> list[dict[str, Any]]:
    """What a stream has left behind whose second micro-batch read two files; returns its matches."""
    events = write_events(place, seed=5, batches=4)
    prints = {rule.name: rule.name for rule in RULES}
    registry, _ = Registry.empty([("key",)]).with_rules(prints, [], {rule.name: written(rule) for rule in RULES})
    kept = place / "checkpoint/cepheid/rules"
    kept.mkdir(parents=True)
    (kept / "part-0.txt").write_text(registry.to_json())
    (place / "generations").mkdir()
    for batch, last_file in enumerate([0, 2, 3]):
        (place / "generations" / str(batch)).write_text(f"{registry.generation} {last_file}")
    found = RULES.match_events(events, order_by=["ts", "id"]).matches
    return [{**{name: row[name] for name in SHOWN.names}, "measures": row["measures"] or {}} for row in found]


def problems(place: Path, matches: list[dict[str, Any]]) -> list[str]:
    (place / "matches").mkdir(exist_ok=True)
    rows = [{**row, "measures": list(row["measures"].items())} for row in matches]
    pq.write_table(pa.Table.from_pylist(rows, SHOWN), place / "matches" / "part.parquet")
    return compare_rules(place, files=4)


def test_a_match_that_is_lost_or_doubled_is_told(tmp_path: Path) -> None:
    matches = left_behind(tmp_path)
    assert [one.last_file for one in noted(tmp_path)] == [0, 2, 3]
    assert problems(tmp_path, matches) == []
    for name in RULES.names:
        one = next(row for row in matches if row["rule"] == name)
        [lost] = problems(tmp_path, [row for row in matches if row is not one])
        assert lost.startswith("1 matches lost")
        [doubled] = problems(tmp_path, [*matches, one])
        assert doubled.startswith("1 matches too many")


def test_a_file_that_was_not_read_is_told(tmp_path: Path) -> None:
    matches = left_behind(tmp_path)
    (tmp_path / "generations" / "2").unlink()
    assert problems(tmp_path, matches) == ["3 files were read, of 4"]
