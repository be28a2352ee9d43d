"""Where compiled code is kept: in a directory that can be written, or nowhere, but never an error on import."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cepheid.engine.kernel import compiling

SCRIPT = """
import logging; logging.basicConfig(level=logging.WARNING)
from cepheid.engine.kernel import compiling
print(compiling.PLACE)
"""


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, **environment}, check=True
    )


def test_a_named_place_is_used_and_named_by_the_sources(tmp_path: Path) -> None:
    printed = run(SCRIPT, CEPHEID_CACHE=str(tmp_path)).stdout.strip()
    assert Path(printed).parent == tmp_path
    assert Path(printed).name.startswith("kernel-")


def test_no_place_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()  # a file cannot hold a directory, whoever asks
    done = run(SCRIPT + "from cepheid.engine.kernel import drive", CEPHEID_CACHE=str(blocked))
    assert done.stdout.strip() == "None"
    assert "Name a writable one with CEPHEID_CACHE" in done.stderr


@pytest.mark.parametrize("name", ["cepheid.zip", "cepheid.whl"])
def test_a_package_in_a_zip_shares_what_is_compiled(name: str, tmp_path: Path) -> None:
    """Spark's workers import what a job ships from a zip: nothing can be written there, nor has its source a file."""
    root = Path(compiling.__file__).parents[2]
    with zipfile.ZipFile(tmp_path / name, "w") as archive:
        for path in root.rglob("*.py"):
            archive.write(path, path.relative_to(root.parent))
    script = (
        SCRIPT
        + "from cepheid.engine.kernel import drive; print(drive.__file__, drive.match_sorted.compiled.stats.cache_path)"
    )
    home = {"PYTHONPATH": str(tmp_path / name), "HOME": str(tmp_path / "home")}
    place, file, kept = run(script, CEPHEID_CACHE="", **home).stdout.split()
    assert file.startswith(str(tmp_path / name))
    assert place == kept == str(tmp_path / "home" / ".cache" / "cepheid" / f"kernel-{compiling.SOURCES}")


KEPT = """
import logging; logging.basicConfig(level=logging.WARNING)
from cepheid.engine.kernel import compiling
from cepheid.engine.kernel.entrances import patience
from twice import twice
with patience(0):
    print(twice(21), sum(twice.compiled.stats.cache_hits.values()), compiling.PLACE)
"""


def kept_function(directory: Path) -> dict[str, str]:
    source = "from cepheid.engine.kernel.entrances import entrance\n\n@entrance()\ndef twice(x):\n    return 2 * x\n"
    (directory / "twice.py").write_text(source)
    path = os.pathsep.join((str(directory), os.environ.get("PYTHONPATH", "")))
    return {"PYTHONPATH": path, "CEPHEID_CACHE": str(directory / "cache")}


def test_compiled_code_is_its_users_own(tmp_path: Path) -> None:
    environment = kept_function(tmp_path)
    place = Path(run(KEPT, **environment).stdout.split()[2])
    assert place.stat().st_mode & 0o777 == 0o700
    place.chmod(0o755)  # readable by others, as earlier versions left it
    assert run(KEPT, **environment).stdout.split()[:2] == ["42", "1"]
    assert place.stat().st_mode & 0o777 == 0o700


def test_compiled_code_that_others_could_write_is_not_used(tmp_path: Path) -> None:
    environment = kept_function(tmp_path)
    place = Path(run(KEPT, **environment).stdout.split()[2])
    place.chmod(0o777)
    done = run(KEPT, **environment)
    assert done.stdout.split() == ["42", "0", "None"]
    assert "others can write there" in done.stderr


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a directory away")
def test_compiled_code_of_another_user_is_not_used(tmp_path: Path) -> None:
    environment = kept_function(tmp_path)
    place = Path(run(KEPT, **environment).stdout.split()[2])
    os.chown(place, 12345, 12345)
    done = run(KEPT, **environment)
    assert done.stdout.split() == ["42", "0", "None"]
    assert "belongs to another user" in done.stderr


DAMAGED = """
import importlib
from itertools import product
import twice as module
for ending, damage in product((".nbc", ".nbi"), (b"", b"no pickle", None)):
    for kept in compiling.PLACE.glob(f"*{ending}"):
        whole = kept.read_bytes()
        kept.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    with patience(0):
        again = importlib.reload(module).twice  # a function that has looked for nothing yet
        print(again(21), sum(again.compiled.stats.cache_hits.values()))
"""


def test_damaged_compiled_code_is_made_anew(tmp_path: Path) -> None:
    environment = kept_function(tmp_path)
    done = run(KEPT + DAMAGED, **environment)
    assert done.stdout.splitlines()[1:] == ["42 0"] * 6
    assert done.stderr.count("is damaged and made anew") == 6
    assert run(KEPT, **environment).stdout.split()[:2] == ["42", "1"]


def test_compiled_code_of_one_machine_is_kept_by_another(tmp_path: Path) -> None:
    """What it holds is not compiled again, what it has is not replaced, and nothing is written beside the place."""
    environment = kept_function(tmp_path)
    run(KEPT, **environment)
    there = {**environment, "CEPHEID_CACHE": str(tmp_path / "there")}
    sent = """
from cepheid.engine import compiled_code
compiled_code.PARTS["main"] = "twice.twice"
"""
    code = run(sent + "print(compiled_code.packed())", **environment).stdout.strip()
    taken = sent + f"from pathlib import Path\nprint([compiled_code.keep(Path({code!r})) for _ in range(2)])"
    assert run(taken, **there).stdout.strip() == "[True, False]"
    assert run(KEPT, **there).stdout.split()[:2] == ["42", "1"]
    (tmp_path / "twice.py").rename(tmp_path / "later.py")  # a function that is compiled later makes another file
    run(KEPT.replace("from twice", "from later"), **environment)
    more = run(sent + "print(compiled_code.packed())", **environment).stdout.strip()
    assert more != code
    assert run(taken.replace(code, more), **there).stdout.strip() == "[True, False]"
    assert sorted(file.name.split("-")[0] for file in (tmp_path / "there").glob("*/*.nbi")) == [
        "later.twice",
        "twice.twice",
    ]


def test_what_takes_long_to_compile_is_announced(caplog: pytest.LogCaptureFixture) -> None:
    from cepheid.engine.kernel.drive import match_sorted
    from cepheid.engine.kernel.hashing import mixed

    compiling.announce_compilation(mixed.compiled)  # type: ignore[attr-defined]
    assert not caplog.records
    compiling.announce_compilation(match_sorted.compiled)  # type: ignore[attr-defined]
    assert ["compiling the engine" in record.getMessage() for record in caplog.records] == [True]
