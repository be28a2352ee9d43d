"""How tests start Spark's processes, so that they cost little: `python tests/spark_processes.py` prepares it.

Some tests start a JVM of their own, and loading Spark's classes from its jars is a quarter of what such a test costs:
they are in a file that these JVMs begin with. The JVM itself checks that the file belongs to it and to the jars, and
ignores one that does not.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from datetime import datetime, timedelta
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
    return f"{SHORT_LIVED} -Xlog:disable -XX:SharedArchiveFile={ARCHIVE}"


def write() -> None:
    """Run a bit of everything, a batch and a stream, and let the JVM write down what it has loaded."""
    import pyspark

    if " " in str(ARCHIVE) or (shutil.which("java") is None and "JAVA_HOME" not in os.environ):
        return
    jars = Path(pyspark.__file__).parent / "jars"
    if ARCHIVE.exists() and ARCHIVE.stat().st_mtime > jars.stat().st_mtime:
        return
    ARCHIVE.parent.mkdir(exist_ok=True)
    ARCHIVE.unlink(missing_ok=True)
    os.environ["SPARK_SUBMIT_OPTS"] = f"{SHORT_LIVED} -Xlog:disable -XX:ArchiveClassesAtExit={ARCHIVE}"
    os.environ.update(PYTHON)
    from pyspark.sql import SparkSession

    from cepheid import Pattern

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    noon = datetime(2025, 1, 1, 12)
    rows = [{"key": "k", "ts": noon + timedelta(seconds=second), "name": "ab"[second % 2]} for second in range(10)]
    pattern = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b'").within("1 hour")
    with tempfile.TemporaryDirectory() as place:
        spark.createDataFrame(rows).write.json(f"{place}/events")
        events = spark.read.schema("key string, ts timestamp, name string").json(f"{place}/events")
        pattern.match(events, partition_by="key", order_by="ts").matches.collect()
        arriving = spark.readStream.schema(events.schema).json(f"{place}/events")
        live = pattern.match(arriving, partition_by="key", order_by="ts", watermark="1 second")
        live.start(matches="memory", checkpoint=f"{place}/checkpoint", flush=True)
        spark.stop()


if __name__ == "__main__":
    write()
