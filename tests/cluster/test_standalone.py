"""A standalone master with two workers: batch and streams, executors that die, come and go, and Spark Connect.

Minutes of processor time, so only `make test-cluster` runs it. Every answer is compared with the same rows in memory.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'cepheid[spark]'")

from cluster import programs
from cluster.standalone import Cluster, connect_server, standalone
from faults.kills import Work
from faults.victims import beside
from spark import another_process

from cepheid.engine.warming import warm_up

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="Spark needs Java"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    warm_up("main", "compact")  # the driver has it, the executors get it
    with standalone(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def start(program: Any, *arguments: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, program.__file__, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def answer(process: subprocess.Popen[str]) -> Any:
    said, complained = process.communicate(timeout=600)
    assert process.returncode == 0, complained[-5000:]
    return json.loads(said.strip().splitlines()[-1])


def test_a_batch_with_the_wheel_shipped(cluster: Cluster) -> None:
    shutil.rmtree(cluster.cache, ignore_errors=True)
    found = answer(start(another_process, "cluster", environment=cluster.driver()))
    assert found == another_process.expected()
    assert list(cluster.cache.glob("kernel-*/drive.match_sorted*.nbi")), "executors got no compiled code"


def test_a_batch_whose_executors_are_killed(cluster: Cluster, tmp_path: Path) -> None:
    environment = cluster.driver(**{"spark.task.maxFailures": "100", "spark.stage.maxConsecutiveAttempts": "100"})
    begun, kills, chance = tmp_path / "begun", 0, random.Random(1)
    job = start(programs, "large", str(begun), environment=environment)
    while job.poll() is None and not begun.exists():
        time.sleep(0.05)
    while job.poll() is None:
        time.sleep(chance.uniform(1.0, 3.0))
        if kills < 6 and (executors := cluster.executors()):
            os.kill(chance.choice(executors), signal.SIGKILL)
            kills += 1
    assert answer(job) == programs.expected()
    assert kills >= 2


def test_a_stream_whose_executors_are_killed(cluster: Cluster, tmp_path: Path) -> None:
    found = beside(tmp_path / "job", 1, Work(batches=8), lambda job: cluster.executors(), cluster.driver())
    assert found.problems == []
    assert found.kills >= 3


def test_dynamic_allocation(cluster: Cluster) -> None:
    settings = {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.timeout": "2s",
        "spark.dynamicAllocation.minExecutors": "0",
        "spark.dynamicAllocation.maxExecutors": "2",
        "spark.dynamicAllocation.executorIdleTimeout": "2s",
    }
    first, idle, second, _ = answer(start(programs, "dynamic", environment=cluster.driver(**settings)))["said"]
    assert first["answer"] == second["answer"] == programs.expected()
    assert (idle["executors"], second["executors"] > 0) == (0, True)


def test_a_stream_under_dynamic_allocation(cluster: Cluster, tmp_path: Path) -> None:
    """Executors may leave between micro-batches, and are killed besides."""
    environment = cluster.driver(
        **{
            "spark.dynamicAllocation.enabled": "true",
            "spark.dynamicAllocation.shuffleTracking.enabled": "true",
            "spark.dynamicAllocation.minExecutors": "1",
            "spark.dynamicAllocation.maxExecutors": "2",
            "spark.dynamicAllocation.executorIdleTimeout": "1s",
        }
    )
    found = beside(tmp_path / "job", 2, Work(batches=3), lambda job: cluster.executors(), environment)
    assert found.problems == []
    assert found.kills >= 1


def test_spark_connect(cluster: Cluster, tmp_path: Path) -> None:
    """One server for batch and stream. Sinks run in the server's Python, operators in that of the executors."""
    pytest.importorskip("grpc", reason="Spark Connect is not installed: pip install 'cepheid[connect]'")
    expected = another_process.expected()
    with connect_server(cluster) as server:
        batch = answer(start(another_process, "connect", environment=cluster.client(server)))
        stream = answer(start(another_process, "connect-stream", str(tmp_path), environment=cluster.client(server)))
    assert {name: batch[name] for name in expected} == expected
    assert (stream["matches"], stream["timeouts"]) == (expected["matches"], expected["timeouts"])
    assert stream["rejected"] == ["no time"]
