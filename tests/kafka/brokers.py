"""A Kafka for tests: `examples/kafka/broker.py` as a process of its own, at a port that is free."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import cepheid

EXAMPLE = Path(__file__).parents[2] / "examples" / "kafka"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(cepheid.__file__).parents[1])}


@contextmanager
def running_broker(place: Path) -> Iterator[str]:
    """Where it is; it ends with the block."""
    place.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(EXAMPLE / "broker.py"), "--port", "0", "--place", str(place)]
    log = place / "broker.log"
    with log.open("w") as said, subprocess.Popen(command, stdout=said, stderr=said, env=ENVIRONMENT) as process:
        try:
            until = monotonic() + 120
            while "Kafka Server started" not in log.read_text():
                assert process.poll() is None and monotonic() < until, f"Kafka did not start:\n{log.read_text()}"
                sleep(0.2)
            [port] = re.findall(r"Kafka \S+ at localhost:(\d+)", log.read_text())
            yield f"localhost:{port}"
        finally:
            process.terminate()
