"""How much memory the partial matches of one matcher may take.

In: what the caller allows, or nothing. Out: bytes. Called by `matcher` before it makes memory larger, on the machine
where that happens: a default depends on it.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SHARE = 8
"""Without a limit of the caller's, one part in so many of the memory that this process may have: several workers share
a machine, and growing needs the old arrays beside the new ones."""


def state_limit(given: int | None) -> int:
    """The limit in bytes."""
    return given if given is not None else available_memory() // SHARE


@cache
def available_memory() -> int:
    """The memory that this process may have: the machine's, the control group's or the process's own, whichever is
    least."""
    return min((os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *_of_control_groups(), *_of_process()))


def _of_process() -> Iterator[int]:
    """As spark.executor.pyspark.memory limits a worker."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        yield soft


def _of_control_groups(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> Iterator[int]:
    """The limits of the groups around this process, as containers have them (versions 2 and 1)."""
    try:
        groups = [line.split(":", 2)[1:] for line in own.read_text().splitlines()]
    except OSError:
        return
    for controllers, path in groups:
        if controllers not in ("", "memory"):
            continue
        base, file = (root, "memory.max") if controllers == "" else (root / "memory", "memory.limit_in_bytes")
        inner = base / path.lstrip("/")
        for group in (inner, *inner.parents):
            try:
                text = (group / file).read_text().strip()
            except OSError:
                text = "max"
            if text.isdigit():
                yield int(text)
            if group == base:
                break
