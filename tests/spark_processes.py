"""How tests start Spark's processes, so that they cost little: `python tests/spark_processes.py` prepares it.

Some tests start a JVM of their own, and loading Spark's classes from its jars is a quarter of what such a test costs:
they are in a file that these JVMs begin with. The JVM itself checks that the file belongs to it and to the jars, and
ignores one that does not.
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ARCHIVE = Path(__file__).parents[1] / "build" / "spark-classes.jsa"
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
"""JVMs that live for seconds or minutes should not spend them on compiling well."""
LOCAL_FILES = (
    "-Dspark.sql.streaming.checkpointFileManagerClass="
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
"""Checkpoints without a process for each local file that might be a symbolic link (docs/tuning.md), in Spark 4.3."""
PYTHON = {"PYSPARK_PYTHON": str(Path(__file__).parent / "worker_python"), "CEPHEID_TESTS_PYTHON": sys.executable}
"""Variables for Spark's Python processes: they run this very Python."""


def options_of_tests() -> str:
    """For the JVMs of tests; those that are killed write checkpoints as a user's would."""
    try:
        release = tuple(map(int, version("pyspark").split(".")[:2]))
    except PackageNotFoundError:
        return java_options()
    return f"{java_options()} {LOCAL_FILES}" if release >= (4, 3) else java_options()


def java_options() -> str:
    """For a JVM that lives as long as a test, as Spark's scripts take them: without blanks in a path."""
    if " " in str(ARCHIVE) or not ARCHIVE.exists():
        return SHORT_LIVED
    from cepheid.spark.preparing import USED_BY

    return f"{SHORT_LIVED} -Xlog:disable {USED_BY.format(ARCHIVE)}"


def write() -> None:
    """The classes that a batch and a stream load."""
    import pyspark

    from cepheid.spark.preparing import archive_classes

    if " " in str(ARCHIVE) or (shutil.which("java") is None and "JAVA_HOME" not in os.environ):
        return
    jars = Path(pyspark.__file__).parent / "jars"
    if ARCHIVE.exists() and ARCHIVE.stat().st_mtime > jars.stat().st_mtime:
        return
    os.environ.update(PYTHON)
    archive_classes(ARCHIVE, SHORT_LIVED)


if __name__ == "__main__":
    write()
