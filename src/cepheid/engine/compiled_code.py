"""Compiled code of the kernel on its way between machines, and made beside a program that does not wait for it.

In: what `kernel.compiling` keeps on disk. Out: the same in one piece, and put where another machine keeps it. Called by
`spark.code`. What is compiled for another kind of processor, Python or numba is never used: numba's own index says what
each piece is for, and the directory is named by the kernel's sources and numba's version.
"""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Literal, TypeAlias

from cepheid.engine.kernel import compiling

logger = logging.getLogger("cepheid.engine")
Part: TypeAlias = Literal["main", "compact", "rows"]
"""What most patterns need; what those need whose partial matches are kept as cohorts; what row patterns need."""
PARTS: dict[Part, str] = {
    "main": "drive.match_sorted",
    "compact": "cohorts.match_cohorts",
    "rows": "row_patterns.scan",
}
"""The parts of the kernel that are compiled one by one, and the largest function of each."""
_beside: dict[Part, subprocess.Popen[bytes]] = {}


NAME = f"cepheid-kernel-{compiling.SOURCES}"
"""How the file begins; what follows tells its contents."""


def packed() -> Path | None:
    """A file with what is compiled on this machine; None if that is nothing yet. More may be compiled later: then it is
    another file."""
    place = compiling.PLACE
    if place is None or not any(place.glob(f"{PARTS['main']}*.nbi")):
        return None
    pieces = sorted(place.glob("*.nb?"))
    contents = hashlib.sha256(repr([(piece.name, piece.stat().st_size) for piece in pieces]).encode())
    target = place / f"{NAME}-{contents.hexdigest()[:12]}.zip"
    if not target.exists():
        whole = place / f".{target.name}.{os.getpid()}"
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
            for piece in pieces:
                archive.write(piece, piece.name)
        whole.replace(target)
    return target


def keep(code: Path) -> bool:
    """Put compiled code where this machine keeps its own: the functions of which it has none. Returns whether there
    were any."""
    place = compiling.PLACE
    if place is None:
        return False
    with zipfile.ZipFile(code) as archive:
        names = [name for name in archive.namelist() if os.path.basename(name) == name]
        if all((place / _index(name)).exists() for name in names):
            return False
        kept = False
        for index in (name for name in names if name.endswith(".nbi")):
            with compiling.one_at_a_time(index.split("-")[0]):
                if (place / index).exists():
                    continue
                for name in [*(name for name in names if _index(name) == index and name != index), index]:
                    whole = place / f".{name}.{os.getpid()}"  # an index comes after what it names
                    whole.write_bytes(archive.read(name))
                    whole.replace(place / name)
                kept = True
    return kept


def _index(piece: str) -> str:
    """The index of the function that a piece belongs to: of `f-1.py311.2.nbc`, as of itself, it is `f-1.py311.nbi`."""
    return piece if piece.endswith(".nbi") else f"{piece.rsplit('.', 2)[0]}.nbi"


def compile_beside(part: Part = "main") -> None:
    """Begin to compile a part that is not compiled yet, in a process of its own that ends with this one."""
    place = compiling.PLACE
    if part in _beside or place is None or any(place.glob(f"{PARTS[part]}*.nbi")):
        return
    script = f"from cepheid.engine.warming import warm_up; warm_up({part!r})"
    path = os.pathsep.join([str(entry) for entry in sys.path if entry])
    logger.info("compiling the engine beside this program, once for this machine and version")
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _beside[part] = process
    atexit.register(process.kill)
