"""Counters for Prometheus: what micro-batches count, added up by query, and served over HTTP."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from cepheid.spark.metrics import Metrics
from cepheid.spark.stream.accounts import COUNTED, HISTORY, OBSERVED, READ

DASHBOARD = Path(__file__).parents[2] / "examples" / "dashboard" / "grafana.json"


def progress(batch: int, rows: int, name: str | None = "theft", **counts: int) -> dict[str, Any]:
    """A micro-batch as Spark's progress tells it."""
    return {
        "id": "5f3c",
        "name": name,
        "batchId": batch,
        "timestamp": "2025-03-01T12:00:30.000Z",
        "durationMs": {"triggerExecution": 500},
        "eventTime": {"watermark": "2025-03-01T12:00:10.000Z"} if batch else {"watermark": "1970-01-01T00:00:00.000Z"},
        "observedMetrics": {OBSERVED: dict.fromkeys(COUNTED, 0) | counts, READ: {"rows": rows}},
    }


def test_counts_are_added_up_by_query() -> None:
    metrics = Metrics()
    metrics.add(progress(0, 10, events=7, pending_change=6, late=1))
    first = progress(1, 0, events=2, handled=8, pending_change=-6, matches=3, runs_change=2)
    first["observedMetrics"][HISTORY] = {"rows": 5}
    metrics.add(first)
    metrics.add(first)  # told twice
    metrics.add(progress(0, 4, name=None, events=4, pending_change=4))
    metrics.add({"id": "other", "batchId": 0, "observedMetrics": {}})  # not a query of ours
    lines = metrics.text().splitlines()
    for line in (
        'cepheid_events_total{query="theft"} 15',
        'cepheid_irrelevant_total{query="theft"} 6',
        'cepheid_late_total{query="theft"} 1',
        'cepheid_handled_total{query="theft"} 8',
        'cepheid_matches_total{query="theft"} 3',
        'cepheid_pending_events{query="theft"} 0',
        'cepheid_live_runs{query="theft"} 2',
        'cepheid_watermark_lag_seconds{query="theft"} 20.0',
        'cepheid_micro_batches_total{query="theft"} 2',
        'cepheid_micro_batch_seconds_total{query="theft"} 1.0',
        'cepheid_query_active{query="theft"} 1',
        'cepheid_pending_events{query="5f3c"} 4',
        "# TYPE cepheid_events_total counter",
        "# TYPE cepheid_live_runs gauge",
    ):
        assert line in lines
    assert not any("other" in line for line in lines)


def test_labels_are_escaped() -> None:
    metrics = Metrics()
    metrics.add(progress(0, 1, name='a "b"\\\n'))
    assert 'cepheid_events_total{query="a \\"b\\"\\\\\\n"} 1' in metrics.text().splitlines()


def test_they_are_served() -> None:
    metrics = Metrics()
    metrics.add(progress(0, 3))
    server = metrics.serve(0)
    try:
        address = f"http://127.0.0.1:{server.server_address[1]}"
        with urllib.request.urlopen(f"{address}/metrics") as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert answer.read().decode() == metrics.text()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{address}/")
    finally:
        server.shutdown()
        server.server_close()


def test_the_dashboard_asks_for_what_there_is() -> None:
    metrics = Metrics()
    metrics.add(progress(1, 3))
    known = {line.split("{")[0] for line in metrics.text().splitlines() if not line.startswith("#")}
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    asked = {name for panel in panels for target in panel["targets"] for name in _names(target["expr"])}
    assert asked and asked <= known


def _names(expression: str) -> list[str]:
    return re.findall(r"cepheid_\w+", expression)
