"""The example that reads spends from a socket works as its description says."""

from __future__ import annotations

import importlib.util
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

EXAMPLE = Path(__file__).parents[2] / "examples" / "socket" / "spends.py"


@pytest.mark.slow
def test_two_spends_and_one_that_no_second_followed(spark: SparkSession, tmp_path: Path) -> None:
    specification = importlib.util.spec_from_file_location("spends", EXAMPLE)
    assert specification is not None and specification.loader is not None
    example = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(example)
    found: dict[str, dict[int, list[Any]]] = {"matches": {}, "timeouts": {}}

    def into(kind: str) -> Any:
        def keep(rows: DataFrame, batch: int) -> None:
            found[kind][batch] = rows.collect()

        return keep

    def all_of(kind: str) -> list[Any]:
        return [row for rows in found[kind].values() for row in rows]

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        lines: list[str] = ["ann, 10", "ann, 20", "bob, 5"]
        is_over = threading.Event()

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                while not is_over.wait(0.5):  # ticks of another user let the watermark pass
                    connection.sendall("".join(f"{line}\n" for line in [*lines, "tick, 0"]).encode())
                    lines.clear()

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        query = example.start(spark, "127.0.0.1", port, str(tmp_path / "c"), into("matches"), into("timeouts"))
        try:
            until = time.monotonic() + 180
            while time.monotonic() < until and query.isActive and not (all_of("matches") and all_of("timeouts")):
                time.sleep(0.2)
        finally:
            is_over.set()
            query.stop()
    assert [(row["user"], row["first"]["amount"], row["second"]["amount"]) for row in all_of("matches")] == [
        ("ann", 10.0, 20.0)
    ]
    assert [(row["user"], row["first"]["amount"]) for row in all_of("timeouts")] == [("bob", 5.0)]
