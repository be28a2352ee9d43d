"""A Spark that is prepared: compiled modules in its zip, and classes in a file that a JVM takes."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cepheid.errors import InputError
from cepheid.spark.preparing import archive_classes, compile_modules, spark_home


def spark_with(tmp_path: Path, **modules: str) -> Path:
    """A directory of a Spark whose zip holds a package with these modules."""
    library = tmp_path / "python" / "lib"
    library.mkdir(parents=True)
    with zipfile.ZipFile(library / "pyspark.zip", "w") as archive:
        for name, source in modules.items():
            archive.writestr(f"pyspark/{name.replace('.', '/')}.py", source)
        archive.writestr("pyspark/errors/conditions.json", "{}")
        archive.writestr("pyspark/tests/broken.py", "this is no Python")
    return tmp_path


def test_modules_are_compiled_once_and_everything_else_stays(tmp_path: Path) -> None:
    home = spark_with(tmp_path, __init__="", worker="print(__file__, __cached__)")
    zipped = home / "python" / "lib" / "pyspark.zip"
    before = set(zipfile.ZipFile(zipped).namelist())
    assert compile_modules(home)
    after = set(zipfile.ZipFile(zipped).namelist())
    assert after - before == {"pyspark/__init__.pyc", "pyspark/worker.pyc"}
    assert before <= after
    assert not compile_modules(home)
    assert [file.name for file in zipped.parent.iterdir()] == ["pyspark.zip"]
    command = [sys.executable, "-c", "import pyspark.worker"]
    printed = subprocess.run(command, env={"PYTHONPATH": str(zipped)}, capture_output=True, text=True, check=True)
    assert printed.stdout.split()[0] == str(zipped / "pyspark" / "worker.pyc")


def test_modules_that_another_python_has_compiled_are_compiled_again(tmp_path: Path) -> None:
    home = spark_with(tmp_path, __init__="")
    zipped = home / "python" / "lib" / "pyspark.zip"
    with zipfile.ZipFile(zipped, "a") as archive:
        archive.writestr("pyspark/__init__.pyc", b"other version")
    assert compile_modules(home)
    assert zipfile.ZipFile(zipped).read("pyspark/__init__.pyc") != b"other version"
    assert not compile_modules(home)


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"pyspark\.zip does not exist"):
        compile_modules(tmp_path)
    with pytest.raises(InputError, match="has a blank in it"):
        archive_classes(tmp_path / "with blank.jsa")


def test_the_installed_spark_is_found() -> None:
    assert (spark_home() / "python" / "lib" / "pyspark.zip").is_file()
