"""Making Spark's own processes start faster: what a new executor does before its first row.

A new executor loads thousands of classes from Spark's jars, and its Python compiles pyspark, which Spark ships as a zip
of sources. Both can be done once, where Spark is installed: the classes as a file that a JVM maps into its memory
(class data sharing; the JVM itself checks that the file belongs to it and to the jars, and ignores one that does not),
the modules compiled in the zip (a Python of another version ignores them).

In: where Spark is, and a file. Out: that file, and the zip. Called by `cepheid prepare`, the tests and the benchmarks.
"""

from __future__ import annotations

import compileall
import os
import py_compile
import re
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import MAGIC_NUMBER
from pathlib import Path

from cepheid.errors import InputError

USED_BY = "-XX:SharedArchiveFile={}"
"""The option of a JVM that begins with the classes of a file."""
_TESTS = re.compile(r"/tests/")
_A_BIT_OF_EVERYTHING = """
import sys
from datetime import datetime, timedelta
from pyspark.sql import SparkSession
from cepheid import Pattern

place = sys.argv[1]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
noon = datetime(2025, 1, 1, 12)
rows = [{"key": "k", "ts": noon + timedelta(seconds=second), "name": "ab"[second % 2]} for second in range(10)]
pattern = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b'").within("1 hour")
spark.createDataFrame(rows).write.json(f"{place}/events")
events = spark.read.schema("key string, ts timestamp, name string").json(f"{place}/events")
pattern.match(events, partition_by="key", order_by="ts").matches.collect()
arriving = spark.readStream.schema(events.schema).json(f"{place}/events")
live = pattern.match(arriving, partition_by="key", order_by="ts", watermark="1 second")
live.start(matches="memory", checkpoint=f"{place}/checkpoint", flush=True)
jvm = spark.sparkContext._gateway.proc
spark.stop()
jvm.stdin.close()  # it ends, and writes down what it has loaded
jvm.wait()
"""


def spark_home() -> Path:
    """Where the Spark is that this Python starts."""
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home())


def compile_modules(home: Path) -> bool:
    """Add the modules in compiled form to the zip from which Spark's Python processes import pyspark; says whether
    something had to be done."""
    zipped = home / "python" / "lib" / "pyspark.zip"
    if not zipped.is_file():
        raise InputError(f"{zipped} does not exist, so this Spark imports pyspark from elsewhere.")
    if not os.access(zipped.parent, os.W_OK):
        raise InputError(f"{zipped} cannot be written.\n  Run the command as the user who installed Spark.")
    with zipfile.ZipFile(zipped) as archive:
        kept = {name for name in archive.namelist() if not name.endswith(".pyc")}
        if "pyspark/__init__.pyc" in archive.namelist() and archive.read("pyspark/__init__.pyc")[:4] == MAGIC_NUMBER:
            return False
        with tempfile.TemporaryDirectory(dir=zipped.parent) as place:
            tree = Path(place) / "tree"
            archive.extractall(tree, kept)
            # The modules do not change, and a zip has no times to compare.
            unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
            compileall.compile_dir(str(tree), quiet=2, legacy=True, rx=_TESTS, invalidation_mode=unchecked)
            made = Path(place) / zipped.name
            with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as result:
                for file in sorted(file for file in tree.rglob("*") if file.is_file()):
                    result.write(file, file.relative_to(tree))
            made.chmod(zipped.stat().st_mode)
            made.replace(zipped)
    return True


def archive_classes(file: Path, java_options: str = "") -> None:
    """Write the classes that a batch and a stream load into a file; `java_options` as Spark's scripts take them."""
    if " " in str(file):
        raise InputError(
            f"{str(file)!r} has a blank in it, which Spark's scripts do not take.\n  Choose another place."
        )
    with tempfile.TemporaryDirectory() as place:
        options = f"{java_options} -Xlog:disable -XX:ArchiveClassesAtExit={Path(place) / file.name}"
        environment = {**os.environ, "SPARK_SUBMIT_OPTS": options.strip()}
        command = [sys.executable, "-c", _A_BIT_OF_EVERYTHING, place]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        written = Path(place) / file.name
        if run.returncode or not written.exists():
            raise InputError(f"Spark wrote no classes to {file}:\n{run.stderr[-2000:]}")
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(file.name + ".part")
        part.write_bytes(written.read_bytes())
        part.replace(file)
