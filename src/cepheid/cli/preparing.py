"""`cepheid prepare`: what a first job would otherwise wait for, done in advance, for instance in an image.

In: nothing, or a file for Spark's classes. Out: the compiled engine in its directory, and on request that file.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

_EPILOG = """\
examples:
  cepheid prepare
  cepheid prepare --spark /opt/spark/classes.jsa

Run it as the user who runs the jobs. Without --spark it compiles the engine; CEPHEID_CACHE names the directory. With
--spark it also changes the installed Spark: it adds compiled modules to python/lib/pyspark.zip.
"""


def add_to(commands: Any) -> None:
    """Add the command to a parser."""
    prepare = commands.add_parser(
        "prepare",
        help="compile the engine in advance, and make new executors start faster",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    prepare.add_argument(
        "--spark",
        metavar="FILE",
        type=Path,
        help="also compile pyspark where Spark is installed, and write the classes that Spark loads to this file",
    )
    prepare.set_defaults(run=_prepare)


def _prepare(arguments: argparse.Namespace) -> int:
    from cepheid.engine.compiled_code import PARTS
    from cepheid.engine.warming import warm_up

    if arguments.spark is not None:
        _prepare_spark(arguments.spark.absolute())
    warm_up(*PARTS)
    print("the engine is compiled")
    return 0


def _prepare_spark(file: Path) -> None:
    from cepheid.spark.preparing import USED_BY, archive_classes, compile_modules, spark_home

    home = spark_home()
    done = "compiled" if compile_modules(home) else "already compiled"
    print(f"pyspark in {home} is {done}")
    archive_classes(file)
    option = USED_BY.format(file)
    print(f"Spark's classes are in {file}. Where executors have this file and the same Spark and Java, start jobs with")
    print(f"  --conf spark.executor.extraJavaOptions={option}")
    print(f"and, for the driver, --driver-java-options {option}")
