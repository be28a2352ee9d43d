"""How the benchmarks measure: CPU seconds of this process or of all processes under it, medians, memory.

In: actions. Out: what they return and what they used. Called by every section; knows nothing of patterns.

A machine that others use as well makes elapsed time worthless, so CPU time is what counts. Spark works in a JVM and in
Python workers that are children of this process: `usage` reads /proc for the whole tree of processes.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

Result = TypeVar("Result")
PROCESSES = Path("/proc")
BETWEEN_SAMPLES = 0.2
"""Seconds between two looks at the memory in use."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line asks for."""

    repeat: int = 5
    events: int | None = None
    smoke: bool = False
    stocks: Path | None = None
    flink: Path | None = None
    """The directory with FlinkCEP's jars."""
    core: Path | None = None
    """The program that runs CORE (see `windows`)."""
    cases: tuple[str, ...] = ()
    """The rows of a section to measure; all if empty."""
    keep: Callable[[Any], None] = lambda section: None
    """Writes what a section has so far, for those that take an hour."""

    def wants(self, case: str) -> bool:
        """Whether a row is to be measured."""
        return not self.cases or case in self.cases


def cpu(action: Callable[[], Result]) -> tuple[Result, float]:
    """What an action returns, and the CPU seconds that this process spent on it, all threads together."""
    begun = time.process_time()
    result = action()
    return result, time.process_time() - begun


def median_cpu(repeat: int, action: Callable[[], Result]) -> tuple[Result, float]:
    """The same several times over: the last result and the median."""
    measured = [cpu(action) for _ in range(repeat)]
    return measured[-1][0], median(seconds for _, seconds in measured)


def peak_memory() -> int:
    """The most bytes that this process has had in memory so far."""
    status = PROCESSES / "self" / "status"
    if status.exists():  # belongs to this program alone; ru_maxrss may be that of the process which started it
        [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


@dataclass(frozen=True, slots=True)
class Usage:
    """What an action used, in all processes of the tree."""

    java: float
    """CPU seconds of Java processes that are still there at the end, such as Spark's."""
    python: float
    """CPU seconds of all others that are still there: this process and Spark's Python workers."""
    ended: float
    """CPU seconds of processes that ended meanwhile."""
    elapsed: float
    memory: int
    """The most bytes that all processes together had in memory, seen every fifth of a second; what several share counts
    in each."""

    @property
    def cpu(self) -> float:
        """All CPU seconds."""
        return self.java + self.python + self.ended


def usage(action: Callable[[], Result]) -> tuple[Result, Usage]:
    """What an action returns, and what it used: in this process and in all under it, such as Spark's."""
    if not (PROCESSES / "self" / "stat").exists():
        raise SystemExit("CPU seconds of several processes are read from /proc, which this system does not have")
    with _MemoryWatch() as watch:
        before, begun = _Times.now(), time.perf_counter()
        result = action()
        elapsed, after = time.perf_counter() - begun, _Times.now()
    java, python, ended = (late - early for late, early in zip(after, before, strict=True))
    return result, Usage(java, python, ended, elapsed, watch.most)


@dataclass(frozen=True, slots=True)
class Measured:
    """What repeated actions used: medians, and the most memory of all."""

    usages: tuple[Usage, ...]

    @property
    def cpu(self) -> float:
        return median(usage.cpu for usage in self.usages)

    @property
    def java(self) -> float:
        return median(usage.java for usage in self.usages)

    @property
    def python(self) -> float:
        return median(usage.python for usage in self.usages)

    @property
    def elapsed(self) -> float:
        return median(usage.elapsed for usage in self.usages)

    @property
    def memory(self) -> int:
        return max(usage.memory for usage in self.usages)

    @property
    def spread(self) -> str:
        """The least and the most CPU seconds."""
        values = [usage.cpu for usage in self.usages]
        return f"{min(values):.1f}–{max(values):.1f}"


def compare(
    repeat: int, actions: Mapping[str, Callable[[], Result]], warm_ups: int = 1
) -> dict[str, tuple[Result, Measured]]:
    """Run several actions in turn, as often as asked: what disturbs one disturbs its neighbours as well.

    The first rounds are not counted: a JVM that is still compiling makes whatever comes first look slow.
    """
    results: dict[str, Result] = {}
    usages: dict[str, list[Usage]] = {name: [] for name in actions}
    for number in range(warm_ups + repeat):
        for name, action in actions.items():
            results[name], used = usage(action)
            if number >= warm_ups:
                usages[name].append(used)
    return {name: (results[name], Measured(tuple(usages[name]))) for name in actions}


def forget_peaks() -> None:
    """Let the processes under this one begin anew with their largest memory, where the system allows it."""
    for process in _tree():
        with suppress(OSError):
            (PROCESSES / str(process) / "clear_refs").write_text("5")


def largest_worker() -> int:
    """The most bytes that a Python process under this one, a worker of Spark, has had in memory since the peaks were
    forgotten."""
    most = 0
    for process, (name, _) in _tree().items():
        if process != os.getpid() and name != "java":
            with suppress(OSError):
                lines = (PROCESSES / str(process) / "status").read_text().splitlines()
                most = max([most, *(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))])
    return most


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes in memory now; what several processes share counts in each."""

    this: int
    java: int
    others: int
    """Of all further processes under this one, such as Spark's Python workers."""
    largest: int
    """Of the largest one of these."""


def memory_of_tree() -> Memory:
    """What this process and all under it have in memory now."""
    page, this, java, others = os.sysconf("SC_PAGE_SIZE"), 0, 0, [0]
    for process, (name, fields) in _tree().items():
        size = page * int(fields[21])
        if process == os.getpid():
            this += size
        elif name == "java":
            java += size
        else:
            others.append(size)
    return Memory(this, java, sum(others), max(others))


def cpu_of_tree() -> float:
    """CPU seconds so far of this process and of all under it, those that have ended included."""
    return sum(_Times.now())


class _Times(tuple[float, float, float]):
    """CPU seconds so far: of Java processes, of others, and of children that ended and were waited for."""

    __slots__ = ()

    @classmethod
    def now(cls) -> _Times:
        tick = os.sysconf("SC_CLK_TCK")
        java = python = ended = 0.0
        for name, fields in _tree().values():
            user, system, of_children, of_children_in_system = (int(value) / tick for value in fields[11:15])
            if name == "java":
                java += user + system
            else:
                python += user + system
            ended += of_children + of_children_in_system
        return cls((java, python, ended))


class _MemoryWatch:
    """Looks at the memory of all processes from time to time, in a thread of its own."""

    def __init__(self) -> None:
        self.most = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> _MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE")
        while True:
            self.most = max(self.most, page * sum(int(fields[21]) for _, fields in _tree().values()))
            if self._stopped.wait(BETWEEN_SAMPLES):
                return


def _tree() -> dict[int, tuple[str, list[str]]]:
    """This process and all under it: name, and the fields of /proc/PID/stat behind the name."""
    everything: dict[int, tuple[str, list[str]]] = {}
    children: dict[int, list[int]] = {}
    for entry in PROCESSES.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text()
        except OSError:  # it has ended
            continue
        name, fields = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
        everything[int(entry.name)] = name, fields
        children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: dict[int, tuple[str, list[str]]] = {}
    waiting = [os.getpid()]
    while waiting:
        process = waiting.pop()
        if process in everything:
            found[process] = everything[process]
            waiting += children.get(process, [])
    return found
