"""A standalone cluster on this machine: a master and two workers, and a Spark Connect server in front of them.

Master, workers and server are the classes of pyspark's own jars, each a JVM of its own that listens on the loopback
interface. Executors run a Python that has Cepheid's dependencies but not Cepheid: the package has to be shipped.
"""

from __future__ import annotations

import os
import re
import signal
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark
from faults.kills import descendants
from faults.victims import EXECUTOR

from cepheid.engine.kernel import compiling

SPARK = Path(pyspark.__file__).parent
PROJECT = Path(__file__).parents[2]
SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
LIMIT = 120
"""Seconds that a JVM may take to say that it is there."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """What runs, and what a driver needs to know of it."""

    master: str
    workers: tuple[int, ...]
    """Their processes."""
    package: Path
    """The wheel, as a zip."""
    python: Path
    """What executors run."""
    cache: Path
    """Where executors keep compiled code."""
    place: Path

    def executors(self) -> list[int]:
        """The processes of all executors."""
        return [process for worker in self.workers for process in descendants(worker, EXECUTOR)]

    def driver(self, **settings: str) -> dict[str, str]:
        """The environment of a driver, whose settings are in spark-defaults.conf. The package comes from the wheel here
        too, and goes to the executors with the job."""
        return self._environment({"spark.submit.pyFiles": str(self.package), **settings}) | {
            "PYTHONPATH": str(self.package),
            "CEPHEID_TEST_MASTER": self.master,
        }

    def client(self, server: str) -> dict[str, str]:
        """The environment of a client of a Connect server."""
        package = str(self.package)
        return self._environment({}) | {"PYTHONPATH": package, "CEPHEID_TEST_PACKAGE": package, "SPARK_REMOTE": server}

    def _environment(self, settings: dict[str, str]) -> dict[str, str]:
        defaults = {
            "spark.driver.host": "localhost",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "512m",
            "spark.executorEnv.CEPHEID_CACHE": str(self.cache),
            "spark.ui.enabled": "false",
            **settings,
        }
        directory = Path(tempfile.mkdtemp(prefix="conf-", dir=self.place))
        lines = [f"{name} {value}" for name, value in defaults.items()]
        (directory / "spark-defaults.conf").write_text("\n".join(lines))
        assert compiling.PLACE is not None
        return {
            **_without_package(),
            "PYSPARK_PYTHON": str(self.python),
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_CONF_DIR": str(directory),
            "CEPHEID_CACHE": str(compiling.PLACE.parent),
        }


@contextmanager
def standalone(place: Path) -> Iterator[Cluster]:
    """A master and two workers with a core each; they end with the block."""
    place.mkdir(parents=True, exist_ok=True)
    package, python = _wheel(place), python_without_package(place / "python")
    with ExitStack() as ending:
        listens = ending.enter_context(
            _process("master", place, "org.apache.spark.deploy.master.Master", "--port", "0", "--webui-port", "0")
        )
        [master] = _said(listens, r"Starting Spark master at (spark://\S+)")
        workers = []
        for number in (1, 2):
            options = [
                "--cores",
                "1",
                "--memory",
                "1g",
                "--webui-port",
                "0",
                "--work-dir",
                str(place / f"work-{number}"),
            ]
            work = _process(f"worker-{number}", place, "org.apache.spark.deploy.worker.Worker", *options, master)
            workers.append(ending.enter_context(work))
        for worker in workers:
            _said(worker, r"(Successfully registered with master)")
        processes = tuple(worker.process.pid for worker in workers)
        yield Cluster(master, processes, package, python, place / "cache", place)


@contextmanager
def connect_server(cluster: Cluster) -> Iterator[str]:
    """A Spark Connect server whose executors are those of the cluster: its address."""
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    arguments = ["--master", cluster.master, "--class", server, "spark-internal"]
    settings = {"spark.connect.grpc.binding.address": "localhost", "spark.connect.grpc.binding.port": "0"}
    # It is a daemon and a driver, and a driver needs more memory than the other daemons have.
    environment = cluster.driver(**settings) | {"SPARK_DAEMON_MEMORY": "1g"}
    with _process("connect", cluster.place, "org.apache.spark.deploy.SparkSubmit", *arguments, more=environment) as it:
        [port] = _said(it, r"Spark Connect server started at: \S*?:(\d+)")
        yield f"sc://localhost:{port}"


@dataclass(frozen=True, slots=True)
class _Running:
    process: subprocess.Popen[bytes]
    log: Path


@contextmanager
def _process(
    name: str, place: Path, main: str, *arguments: str, more: dict[str, str] | None = None
) -> Iterator[_Running]:
    """A class of Spark's jars as a group of processes that ends with the block."""
    log = place / f"{name}.log"
    with log.open("w") as said:
        process = subprocess.Popen(
            [str(SPARK / "bin" / "spark-class"), main, *arguments],
            stdout=said,
            stderr=said,
            start_new_session=True,
            env={**_without_package(), "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": SMALL, **(more or {})},
        )
    try:
        yield _Running(process, log)
    finally:
        process.terminate()  # a worker ends its executors, which are groups of their own
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _said(running: _Running, pattern: str) -> list[str]:
    """What a process says when it is there."""
    until = time.monotonic() + LIMIT
    while not (found := re.findall(pattern, running.log.read_text(errors="replace"))):
        text = running.log.read_text(errors="replace")[-4000:]
        assert running.process.poll() is None and time.monotonic() < until, f"{running.log.stem} did not start:\n{text}"
        time.sleep(0.1)
    return found[:1]


def _without_package() -> dict[str, str]:
    """This environment, in which executors would find the package by PYTHONPATH; all sockets are on the loopback."""
    gone = ("PYTHONPATH", "PYSPARK_PYTHON", "CEPHEID_CACHE", "SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS")
    inherited = {name: value for name, value in os.environ.items() if name not in gone}
    local = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost", "SPARK_HOME": str(SPARK)}
    return inherited | local | {"SPARK_LAUNCHER_OPTS": SMALL}


def _wheel(place: Path) -> Path:
    """The package as the project's own backend builds it. Spark puts no .whl on the path, so it is called .zip."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place / "dist")]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
    [wheel] = (place / "dist").glob("*.whl")
    return wheel.rename(place / "dist" / "cepheid.zip")


def python_without_package(place: Path) -> Path:
    """A Python with this one's packages, but for those that are installed by a link (.pth): among these is Cepheid."""
    [installed] = [Path(found) for found in site.getsitepackages() if (Path(found) / "pyspark").exists()][:1]
    assert not (installed / "cepheid").exists(), "Cepheid lies among its dependencies: pip install --editable instead"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    [packages] = place.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(f"{installed}\n")
    return place / "bin" / "python"
