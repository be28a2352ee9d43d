"""A disk too small for the checkpoint: a clear error each time, and nothing lost once there is space again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'cepheid[spark]'")

from faults.comparing import compare
from faults.full_disk import ROOMS
from faults.kills import surroundings, write_events

PROGRAM = Path(__file__).parent / "full_disk.py"
SIZE = "8m"
# A mount that only the processes below see, and that ends with them; without root it needs a name space of users too.
OWN_MOUNTS = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]


def may_mount() -> bool:
    """Whether a small file system can be had here."""
    if shutil.which("unshare") is None:
        return False
    tried = [*OWN_MOUNTS, "mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", "/mnt"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
@pytest.mark.skipif(not may_mount(), reason="a small file system cannot be mounted here: unshare --mount is refused")
def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    events = write_events(tmp_path, seed=3, batches=3 * len(ROOMS))
    (tmp_path / "small").mkdir()
    mounted = 'mount -t tmpfs -o size="$1" none "$2/small" && exec "$3" "$4" "$2"'
    command = [*OWN_MOUNTS, "sh", "-c", mounted, "sh", SIZE, str(tmp_path), sys.executable, str(PROGRAM)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=surroundings(tmp_path))
    assert done.returncode == 0, done.stderr[-5_000:]
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('"')]
    assert len(told) >= len(ROOMS)  # at the start and in the rounds, but for one that may leave room enough
    for error in told:
        assert f"StateError: the checkpoint '{tmp_path}/small/checkpoint' could not be written" in error
        assert "No space left on device" in error and "start again with the same checkpoint" in error
    assert compare(tmp_path, events, rows=False) == []
