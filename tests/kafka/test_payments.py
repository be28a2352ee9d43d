"""The example over a real Kafka: Spark's own source and sink, the end, and a driver that dies and a restart.

The jars of broker and connector are fetched by their Maven coordinates. Where no repository can be reached the tests
are skipped, but not in continuous integration (CI is set); any other reason why they cannot be fetched is a failure.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from kafka.brokers import ENVIRONMENT, EXAMPLE, running_broker

from cepheid.engine.warming import warm_up

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'cepheid[spark]'")
HERE = Path(__file__).parent


@pytest.fixture
def maven(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark and Kafka need Java: neither is `java` on the PATH nor JAVA_HOME set")
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import maven

    return maven


@pytest.fixture
def payments(maven: ModuleType) -> ModuleType:
    import broker
    import payments

    with skipped_where_unreachable(maven):
        maven.fetched("broker", broker.JARS)
        payments.connector()
    return payments


@contextmanager
def skipped_where_unreachable(maven: ModuleType) -> Iterator[None]:
    try:
        yield
    except maven.Unreachable as error:
        if "CI" in os.environ:
            raise
        pytest.skip(f"the jars are not here, and no repository can be reached: {error}")


@pytest.fixture
def servers(payments: ModuleType, tmp_path: Path) -> Iterator[str]:
    """A broker of its own."""
    with running_broker(tmp_path / "broker") as address:
        yield address


def run(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=ENVIRONMENT, check=False)


Topics = dict[str, list[tuple[str, dict[str, Any]]]]


@pytest.mark.slow
def test_what_the_example_writes_is_what_is_found_in_memory(payments: ModuleType, servers: str, tmp_path: Path) -> None:
    warm_up()
    topics = to_the_end(payments, servers, tmp_path / "checkpoint", first=0, unusable=1)
    assert len(topics["captured"]) == len(dict(topics["captured"]))


@pytest.mark.slow
def test_a_crash_and_a_restart_lose_nothing(payments: ModuleType, servers: str, tmp_path: Path) -> None:
    warm_up()
    crashed = run(HERE / "crash.py", str(EXAMPLE), servers, str(tmp_path / "checkpoint"))
    assert crashed.returncode == 9, crashed.stderr[-4000:]
    topics = to_the_end(payments, servers, tmp_path / "checkpoint", first=30, unusable=2)
    # Kafka's sink writes at least once: the crash has doubled some
    assert len(topics["captured"]) > len(dict(topics["captured"]))


def to_the_end(payments: ModuleType, servers: str, checkpoint: Path, first: int, unusable: int) -> Topics:
    """Let the example send the payments from a minute on, and watch and show all of them: what the topics hold."""
    options = ["--servers", servers, "--checkpoint", str(checkpoint), "--minutes", str(first), "60", "--end"]
    ended = run(EXAMPLE / "payments.py", "send", "watch", "show", *options, "--every-message")
    assert ended.returncode == 0, ended.stderr[-4000:]
    messages, summary, *_ = ended.stdout.strip().splitlines()
    topics: Topics = json.loads(messages)

    expected = payments.CAPTURED.match_events(payments.made_up(0, 60), partition_by="payment", order_by="ts")
    captured, expired, unread = (dict(topics[name]) for name in ("captured", "expired", "unusable"))
    assert sorted((match["payment"], plain(match["taken"]["ts"])) for match in captured.values()) == sorted(
        (match["payment"], match["taken"]["ts"].isoformat()) for match in expected.matches
    )
    assert sorted((timeout["payment"], plain(timeout["at"])) for timeout in expired.values()) == sorted(
        (timeout["payment"], timeout["at"].isoformat()) for timeout in expected.timeouts
    )
    assert [row["reason"] for row in unread.values()] == ["no time"] * unusable
    assert summary == f"{len(captured)} captured, {len(expired)} expired, {unusable} unusable"
    return topics


@pytest.mark.slow
def test_a_rule_is_added_while_a_stream_over_kafka_runs(payments: ModuleType, servers: str, tmp_path: Path) -> None:
    warm_up()
    expected = payments.CAPTURED.match_events(payments.made_up(0, 60), partition_by="payment", order_by="ts")
    with_rules = run(EXAMPLE / "rules.py", "--servers", servers, "--place", str(tmp_path / "rules"))
    assert with_rules.returncode == 0, with_rules.stderr[-4000:]
    taken_up, *by_rule = with_rules.stdout.strip().splitlines()
    assert taken_up.endswith("1 go on, 1 new (large)")
    # the watermark is a minute behind the last payment, so that what came last is not decided yet
    in_time = [match for match in expected.matches if match["end_time"] <= payments.MORNING + timedelta(minutes=58)]
    large = [
        match
        for match in in_time
        if match["reserved"]["amount"] > 50 and match["end_time"] - match["start_time"] < timedelta(minutes=2)
    ]
    assert by_rule == [
        f"{rule}: {len(found)} alerts, the first for a payment of {min(m['start_time'] for m in found):%H:%M}"
        for rule, found in (("captured", in_time), ("large", large))
    ]


def plain(text: str) -> str:
    """A time as Spark writes it in JSON, in the form of Python."""
    return text.removesuffix("Z").removesuffix(".000")


def test_jars_that_do_not_exist_and_a_repository_that_is_not_there(
    maven: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maven, "BUILD", tmp_path)
    wanted = [maven.Coordinates("org.apache.kafka", "kafka_2.13", "0.0.0")]
    with skipped_where_unreachable(maven):
        try:
            maven.fetched("nothing", wanted)
        except maven.Unreachable:
            raise
        except maven.NotFetched as error:
            assert "kafka_2.13;0.0.0: not found" in str(error)
        else:
            pytest.fail("there is no such version")
    resolver = '<ibiblio name="gone" m2compatible="true" root="http://localhost:1/"/>'
    settings = f'<ivysettings><settings defaultResolver="gone"/><resolvers>{resolver}</resolvers></ivysettings>'
    (tmp_path / "settings.xml").write_text(settings)
    monkeypatch.setenv("IVY_SETTINGS", str(tmp_path / "settings.xml"))
    with pytest.raises(maven.Unreachable, match="could not fetch what nothing needs"):
        maven.fetched("nothing", wanted)
    assert not (tmp_path / "jars" / "nothing").exists()
