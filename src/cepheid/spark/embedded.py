"""A Spark session for one program: that of `spark-submit`, one that was asked for, or a quiet Spark in this process.

In: a name, settings. Out: a session that is stopped at the end. Called by the command line, the demonstration and the
examples. Programs that have a session of their own do not need this.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any

from pyspark.sql import SparkSession

from cepheid.spark.session import context_of, missing_options

__all__ = ["SparkSession", "after_interrupt", "embedded_spark", "hushed", "job_session"]

_QUIET = {"spark.ui.showConsoleProgress": "false"}
_LOG_SETTINGS = Path(__file__).with_name("quiet-log4j2.properties")
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


@contextmanager
def embedded_spark(name: str) -> Iterator[SparkSession]:
    """A local Spark on all cores, quiet, whose workers use this very Python."""
    settings = {"spark.master": "local[*]", "spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC"}
    with job_session(name, settings) as session:
        yield session


@contextmanager
def job_session(name: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session for one job: that of `spark-submit` or of `spark.master`, or else a Spark in this process. One that
    runs in this process already is used, and left running."""
    running = SparkSession.getActiveSession()
    if running is not None:  # somebody else's, who will stop it
        for key, value in settings.items():
            if running.conf.isModifiable(key):
                running.conf.set(key, value)
        yield running
        return
    builder = SparkSession.builder.appName(name)
    for key, value in {**_QUIET, **_with_master(settings)}.items():
        builder = builder.config(key, value)
    for talkative in ("SQLQueryContextLogger", "py4j"):  # errors a second time, with their traces, and Ctrl-C with one
        logging.getLogger(talkative).setLevel(logging.CRITICAL + 1)
    session = builder.getOrCreate()
    for key, value in missing_options(session).items():
        session.conf.set(key, value)
    stop = session.stop
    with _plain_interrupts():
        try:
            yield session
        except KeyboardInterrupt:
            stop = partial(after_interrupt, partial(_stop_quietly, session))
            raise
        finally:
            stop()


def _stop_quietly(session: SparkSession) -> None:
    """Stop Spark in the midst of whatever it does."""
    with hushed(session):
        session.stop()


@contextmanager
def hushed(session: SparkSession) -> Iterator[None]:
    """Throw away what Spark prints: a thread that is stopped in the midst of its work prints a trace of its own, past
    the log. Spark Connect prints elsewhere."""
    context = context_of(session.range(0))
    if context is None:
        yield
        return
    java: Any = context._gateway.jvm  # type: ignore[union-attr]
    before = java.java.lang.System.err
    java.java.lang.System.setErr(java.java.io.PrintStream(java.java.io.OutputStream.nullOutputStream()))
    try:
        yield
    finally:
        java.java.lang.System.setErr(before)


def after_interrupt(work: Callable[[], object], seconds: float = 30) -> None:
    """Do something with Spark after Ctrl-C, in a thread of its own, and wait for it. The thread that was taken out of a
    call must not make another one: it would read the answer to the first. What fails now is no news."""

    def quietly() -> None:
        with suppress(Exception):
            work()

    thread = Thread(target=quietly, daemon=True)
    thread.start()
    thread.join(seconds)


@contextmanager
def _plain_interrupts() -> Iterator[None]:
    """Ctrl-C raises `KeyboardInterrupt` and does nothing else: the handler that PySpark installs would talk to Spark
    while the answer to another call is on its way, and print what comes of it."""
    if current_thread() is not main_thread():
        yield
        return
    before, root = signal.signal(signal.SIGINT, signal.default_int_handler), logging.getLogger()
    root.addFilter(_is_no_interrupt)
    try:
        yield
    finally:
        root.removeFilter(_is_no_interrupt)
        signal.signal(signal.SIGINT, before)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """py4j logs Ctrl-C with a trace, by the root logger, and raises it then."""
    return not record.getMessage().startswith("KeyboardInterrupt while sending command")


def _with_master(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings with a master, where nobody has named one."""
    chosen = dict(settings)
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has started Spark and set this
        return chosen
    if not {"spark.master", "spark.remote"} & set(chosen) and "SPARK_REMOTE" not in os.environ:
        chosen["spark.master"] = "local[*]"
    if chosen.get("spark.master", "").startswith("local["):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        if _LOG_SETTINGS.is_file():  # it is none where the package lies in a zip
            chosen.setdefault(_JAVA_OPTIONS, f"-Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}")
    return chosen
