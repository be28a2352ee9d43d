"""What the streams of a session do, as Prometheus reads it.

In: the progress of Spark's streaming queries. Out: counters and gauges as text, on request or over HTTP. For users'
programs: `spark.streams.addListener(Metrics())`. The counts are those of `stream.accounts`, so they add up: events read
are irrelevant, late, rejected, handled or pending.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from cepheid.spark.stream.accounts import account

_COUNTERS = {
    "rows": ("events", "Events read, those of a history included."),
    "irrelevant": ("irrelevant", "Events that no condition could want, dropped before the shuffle."),
    "late": ("late", "Events that the watermark had passed."),
    "rejected": ("rejected", "Events that could not be used."),
    "handled": ("handled", "Events that were matched when the watermark had passed them."),
    "matches": ("matches", "Matches found, or counted."),
    "timeouts": ("timeouts", "Partial matches that ran out of time."),
    "written_bytes": ("state_written_bytes", "Bytes of state written."),
}
"""What is added up: the name that an account has for it, the name here, and what it says."""
_GAUGES = {
    "pending_change": ("pending_events", "Events that wait for the watermark, less those that waited at first."),
    "runs_change": ("live_runs", "Partial matches, less those that were there at first."),
}
_CONTENT = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(slots=True)
class _Query:
    """What is known of one query."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*_COUNTERS, *_GAUGES), 0))
    batches: int = 0
    seconds: float = 0.0
    last_batch: int = -1
    lag: float | None = None
    is_active: bool = True


class Metrics(StreamingQueryListener):
    """Follows all streams of a session that run a pattern, a set of rules or a row pattern.

    `text()` is what Prometheus reads; `serve(port)` answers `GET /metrics` with it. The label `query` is the query's
    name, or its id. Counters begin when the listener is added, as Prometheus expects of a program that is started.
    """

    def __init__(self) -> None:
        self._queries: dict[str, _Query] = {}
        self._names: dict[str, str] = {}
        self._lock = threading.Lock()

    def onQueryStarted(self, event: Any) -> None:
        with self._lock:
            name = event.name or str(event.id)
            self._names[str(event.runId)] = name
            if name in self._queries:
                self._queries[name].is_active = True

    def onQueryProgress(self, event: Any) -> None:
        self.add(json.loads(event.progress.json))

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        with self._lock:
            name = self._names.pop(str(event.runId), str(event.id))
            if name in self._queries:
                self._queries[name].is_active = False

    def add(self, progress: Mapping[str, Any]) -> None:
        """Add one micro-batch, from its progress as JSON; one that is not ours, or was added before, is passed over."""
        found = account(progress)
        if found is None:
            return
        with self._lock:
            query = self._queries.setdefault(progress.get("name") or progress["id"], _Query())
            if found.batch <= query.last_batch:
                return
            for name in query.counts:
                query.counts[name] += int(getattr(found, name))
            query.last_batch = found.batch
            query.batches += 1
            query.seconds += float(progress.get("durationMs", {}).get("triggerExecution", 0)) / 1000
            query.lag = _lag(progress)

    def text(self) -> str:
        """All counters and gauges, in the text format of Prometheus."""
        with self._lock:
            queries = dict(self._queries)
            lines: list[str] = []
            for kind, names in (("counter", _COUNTERS), ("gauge", _GAUGES)):
                for own, (shown, said) in names.items():
                    values = {name: query.counts[own] for name, query in queries.items()}
                    lines += _metric(f"cepheid_{shown}{'_total' if kind == 'counter' else ''}", kind, said, values)
            lags = {name: query.lag for name, query in queries.items() if query.lag is not None}
            batches = {name: query.batches for name, query in queries.items()}
            seconds = {name: query.seconds for name, query in queries.items()}
            active = {name: int(query.is_active) for name, query in queries.items()}
        lines += _metric("cepheid_watermark_lag_seconds", "gauge", "How far the watermark is behind the clock.", lags)
        lines += _metric("cepheid_micro_batches_total", "counter", "Micro-batches done.", batches)
        lines += _metric("cepheid_micro_batch_seconds_total", "counter", "Seconds spent in micro-batches.", seconds)
        lines += _metric("cepheid_query_active", "gauge", "Whether the query runs: 1 or 0.", active)
        return "\n".join(lines) + "\n"

    def serve(self, port: int, host: str = "127.0.0.1") -> ThreadingHTTPServer:
        """Answer `GET /metrics` from now on, in a thread of its own; `shutdown()` on what is returned ends it."""
        metrics = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.partition("?")[0] != "/metrics":
                    self.send_error(404, "ask for /metrics")
                    return
                body = metrics.text().encode()
                self.send_response(200)
                self.send_header("Content-Type", _CONTENT)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = ThreadingHTTPServer((host, port), Answer)
        threading.Thread(target=server.serve_forever, name="cepheid metrics", daemon=True).start()
        return server


def _metric(name: str, kind: str, said: str, values: Mapping[str, float]) -> list[str]:
    head = [f"# HELP {name} {said}", f"# TYPE {name} {kind}"]
    return head + [f'{name}{{query="{_escaped(query)}"}} {value}' for query, value in sorted(values.items())]


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _lag(progress: Mapping[str, Any]) -> float | None:
    """Seconds from the watermark to the end of the micro-batch's trigger, None before the first event."""
    watermark = progress.get("eventTime", {}).get("watermark")
    if watermark is None or watermark.startswith("1970"):
        return None
    return (datetime.fromisoformat(progress["timestamp"]) - datetime.fromisoformat(watermark)).total_seconds()
