"""One Spark for all tests of a group that need it: tests/conftest.py sends each group to one worker."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.shuffle.partitions": "2",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A Spark in this process, with its ANSI rules and in UTC."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java: neither is `java` on the PATH nor JAVA_HOME set")
    pyspark_sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: pip install 'cepheid[spark]'")
    builder = pyspark_sql.SparkSession.builder.master("local[1]").appName("cepheid-tests").config(map=OPTIONS)
    session = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse"))).getOrCreate()
    # Jobs that are meant to fail should not fill the terminal with traces of both languages.
    session.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").disabled = True
    yield session
    session.stop()
