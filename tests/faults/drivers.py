"""A driver in a group of its own, as a new process or as a fork of this one.

A driver that is killed twenty times spends a fifth of its time on imports. A fork has them in memory already; it starts
a JVM of its own all the same. Only a process that has no Spark itself may be forked: `bench/kills.py` asks for that.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

ASKED = "CEPHEID_FORKED_DRIVERS"
"""Set in the environment of a process that may be forked."""


class Forked:
    """A process that runs a function; what `subprocess.Popen` has of it."""

    def __init__(self, run: Callable[[], None], log: Path, environment: dict[str, str]) -> None:
        self.returncode: int | None = None
        self.pid = os.fork()
        if not self.pid:
            _be_a_driver(run, log, environment)
        while os.getpgid(self.pid) != self.pid:  # it leads its group from its first moment on
            time.sleep(0.001)

    def poll(self) -> int | None:
        """The code that it ended with; None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        end = float("inf") if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("a forked driver", timeout or 0.0)
            time.sleep(0.02)
        return code


Driver: TypeAlias = Forked | subprocess.Popen[bytes]


def start(program: ModuleType, place: Path, arguments: list[str], environment: dict[str, str]) -> Driver:
    """Run the `main` of a program, which writes to `log` in its place."""
    log = place / "log"
    if os.environ.get(ASKED):
        return Forked(lambda: program.main(place, *arguments), log, environment)
    command = [sys.executable, str(program.__file__), str(place), *arguments]
    with log.open("ab") as output:
        return subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True, env=environment)


def _be_a_driver(run: Callable[[], None], log: Path, environment: dict[str, str]) -> None:
    code = 1
    try:
        os.setsid()
        with log.open("ab") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        os.environ.clear()
        os.environ.update(environment)
        run()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # what this process would tidy up belongs to the one that it was forked from
