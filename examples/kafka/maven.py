"""Fetch jars by their Maven coordinates, with the Ivy that comes with Spark, as `spark-submit --packages` does.

In: coordinates. Out: a directory under build/ with the jars and their dependencies. Ivy asks Maven's central repository
unless IVY_SETTINGS names an Ivy settings file. A version may be a range such as `[4.0.0,4.3.0]`, which means the newest
one that the repository has.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import quoteattr

import pyspark

STAMP = "ivy.xml"  # what a directory was fetched for
BUILD = Path(__file__).parents[2] / "build"
SETTINGS = """\
<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""
UNREACHABLE = re.compile(r"Host \S+ not found|timed out|Connection refused|[Nn]etwork is unreachable|No route to host")


class NotFetched(RuntimeError):
    """Jars could not be fetched."""


class Unreachable(NotFetched):
    """The repository cannot be reached."""


@dataclass(frozen=True, slots=True)
class Coordinates:
    """One artifact, such as org.apache.kafka:kafka_2.13:4.1.0."""

    group: str
    artifact: str
    version: str

    def as_xml(self, kind: str, name: str) -> str:
        return f"<{kind} org={quoteattr(self.group)} {name}={quoteattr(self.artifact)} rev={quoteattr(self.version)}"


def fetched(
    name: str, wanted: Sequence[Coordinates], instead: Sequence[Coordinates] = (), without: Sequence[str] = ()
) -> Path:
    """The directory build/jars/`name` with the wanted jars. `instead`: dependencies whose versions replace those asked
    for; `without`: groups to leave out because they are present already."""
    lines = ['<ivy-module version="2.0">', f'<info organisation="cepheid" module="{name}"/>']
    lines += ['<configurations><conf name="default"/></configurations>', "<dependencies>"]
    lines += [f'{one.as_xml("dependency", "name")} conf="default->default"/>' for one in wanted]
    lines += [f"<exclude org={quoteattr(group)}/>" for group in without]
    lines += [f"{one.as_xml('override', 'module')}/>" for one in instead]
    text = "\n".join([*lines, "</dependencies>", "</ivy-module>", ""])
    target = BUILD / "jars" / name
    if not (target / STAMP).exists() or (target / STAMP).read_text(encoding="utf-8") != text:
        _retrieve(text, target)
    return target


def _retrieve(text: str, target: Path) -> None:
    [ivy] = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent) as place:
        (Path(place) / "ivy.xml").write_text(text, encoding="utf-8")
        (Path(place) / "settings.xml").write_text(SETTINGS, encoding="utf-8")
        command = [java(), "-cp", str(ivy), "org.apache.ivy.Main", "-warn", "-ivy", f"{place}/ivy.xml"]
        command += ["-settings", os.environ.get("IVY_SETTINGS", f"{place}/settings.xml"), "-types", "jar", "bundle"]
        command += ["-retrieve", f"{place}/jars/[artifact]-[revision].[ext]"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        said = done.stdout + done.stderr
        jars = Path(place) / "jars"
        if done.returncode or "UNRESOLVED DEPENDENCIES" in said or not jars.exists():
            kind = Unreachable if UNREACHABLE.search(said) else NotFetched
            raise kind(f"Ivy could not fetch what {target.name} needs:\n{said[-3000:]}")
        shutil.rmtree(target, ignore_errors=True)
        (Path(place) / "ivy.xml").rename(jars / STAMP)
        jars.rename(target)


def java() -> str:
    """The Java that Spark would use."""
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/java" if home else "java"
