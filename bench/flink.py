"""Real FlinkCEP: its jars, and small Java programs of ours around them.

In: a version, Java sources. Out: what a program prints. Called by the benchmarks that compare with FlinkCEP and by
experiments/semantics.

The jars come out of the Python package apache-flink-libraries (some 250 MB), so that pip is all that is needed; they
are kept under build/flink. The programs are compiled with javac when they are needed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

BUILD = Path(__file__).parents[1] / "build" / "flink"
PACKAGE = "apache-flink-libraries"
WANTED = ("flink-dist-", "flink-cep-", "log4j-")
VERSION = "2.3.0"
OPENED = ("java.lang", "java.util", "java.time")
"""Packages of Java that Flink looks into."""


class NoFlink(RuntimeError):
    """FlinkCEP cannot be run here."""


def jars(version: str = VERSION, place: Path | None = None) -> Path:
    """The directory with the jars of a version of Flink; fetched if it is not there yet."""
    target = place or BUILD / version
    if not any(target.glob("flink-cep-*.jar")):
        fetch(version, target)
    return target


def fetch(version: str, target: Path) -> None:
    """Have pip download the package, and take the jars that are needed out of it."""
    with TemporaryDirectory() as place:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", place]
        done = subprocess.run([*command, f"{PACKAGE}=={version}"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise NoFlink(f"pip could not download {PACKAGE} {version}:\n{done.stderr}")
        [package] = Path(place).iterdir()
        target.mkdir(parents=True, exist_ok=True)
        if package.suffix == ".whl":
            _take_from_wheel(package, target)
        else:
            _take_from_sources(package, target)


def _take_from_wheel(package: Path, target: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        for name in archive.namelist():
            if _is_wanted(name):
                (target / PurePosixPath(name).name).write_bytes(archive.read(name))


def _take_from_sources(package: Path, target: Path) -> None:
    with tarfile.open(package) as archive:
        for member in archive:
            content = archive.extractfile(member) if _is_wanted(member.name) else None
            if content is not None:
                with content, (target / PurePosixPath(member.name).name).open("wb") as file:
                    shutil.copyfileobj(content, file)


def _is_wanted(name: str) -> bool:
    path = PurePosixPath(name)
    return path.parent.name == "lib" and path.name.startswith(WANTED) and path.suffix == ".jar"


def compiled(sources: Path, jars_of_flink: Path) -> Path:
    """The directory with the classes of all Java files in a directory, compiled anew if one has changed."""
    if shutil.which("javac") is None:
        raise NoFlink("javac is not on the PATH: FlinkCEP is driven by Java programs that are compiled here")
    files = sorted(sources.glob("*.java"))
    classes = jars_of_flink / f"classes-{sources.parent.name}"
    mark = classes / "compiled"
    if not mark.exists() or any(file.stat().st_mtime > mark.stat().st_mtime for file in files):
        classes.mkdir(exist_ok=True)
        command = ["javac", "-nowarn", "-Xlint:-options", "-d", str(classes), "-cp", f"{jars_of_flink}/*"]
        done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise NoFlink(f"javac refuses {sources}:\n{done.stderr}")
        mark.touch()
    return classes


def command(sources: Path, jars_of_flink: Path, program: str, *arguments: object, memory: str = "4g") -> list[str]:
    """The command that runs a program."""
    classes = compiled(sources, jars_of_flink)
    opens = [part for name in OPENED for part in ("--add-opens", f"java.base/{name}=ALL-UNNAMED")]
    quiet = ["-Dlog4j2.level=OFF", "-Dlog4j2.statusLoggerLevel=OFF"]
    path = f"{classes}:{jars_of_flink}/*"
    return ["java", *opens, *quiet, f"-Xmx{memory}", "-cp", path, program, *map(str, arguments)]
