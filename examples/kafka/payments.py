"""Reservations that were never captured, over Kafka: `python examples/kafka/payments.py send watch show`.

Events come from the topic `payments`. A card is charged in two steps: the money is reserved and later captured.
Captured reservations go to the topic `captured`; those not captured within 15 minutes go to `expired`; messages that
are late or cannot be read go to `unusable`. Source and sink are Spark's own; `broker.py` starts a Kafka to try it with.

The steps: `send` makes up payments and sends them; `watch` processes everything available and stops, and continues from
there the next time; `show` prints what the topics hold. `watch --live` runs until you stop it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pyspark
from maven import BUILD, Coordinates, NotFetched, fetched
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from cepheid import Pattern

CAPTURED = (
    Pattern.begin("reserved")
    .where("kind = 'RESERVED'")
    .followed_by("taken")
    .where("kind = 'CAPTURED' AND amount <= reserved.amount")
    .within("15 minutes")
    .skip("past_last_event")
)
SCHEMA = "payment string, kind string, amount double, ts timestamp"
MORNING = datetime(2025, 3, 3, 9)


def connector() -> dict[str, str]:
    """Settings that give Spark its Kafka connector, as `--packages` with the coordinates below would. If the repository
    does not have this version yet, the newest one before it is used."""
    versions = f"[4.0.0,{pyspark.__version__}]"
    wanted = Coordinates("org.apache.spark", "spark-sql-kafka-0-10_2.13", versions)
    helper = Coordinates("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", versions)
    jars = fetched("connector", [wanted], [helper], without=["org.apache.hadoop", "org.scala-lang"])
    return {"spark.jars": ",".join(str(jar) for jar in sorted(jars.glob("*.jar")))}


def made_up(first: int, last: int) -> list[dict[str, Any]]:
    """One payment per minute; every fifth is never captured, every seventh is captured too late."""
    events = []
    for number in range(last):
        begin, amount = MORNING + timedelta(minutes=number), 10.0 + number
        events.append({"payment": f"p{number}", "kind": "RESERVED", "amount": amount, "ts": begin})
        if number % 5:
            then = begin + timedelta(minutes=15 if number % 7 == 0 else 1 + number % 3)
            events.append({"payment": f"p{number}", "kind": "CAPTURED", "amount": amount, "ts": then})
    start, end = (MORNING + timedelta(minutes=minute) for minute in (first, last))
    return sorted((event for event in events if start <= event["ts"] < end), key=lambda event: event["ts"])


def send(session: SparkSession, servers: str, first: int, last: int, topic: str = "payments") -> None:
    """Send made-up payments and one message that is none. Events of one payment go to one partition, in order."""
    messages = [(event["payment"], json.dumps(event, default=str)) for event in made_up(first, last)]
    rows = session.createDataFrame([*messages, (None, "no payment")], "key string, value string")
    rows.coalesce(1).write.format("kafka").options(**{"kafka.bootstrap.servers": servers, "topic": topic}).save()


def payments(session: SparkSession, servers: str, topic: str = "payments") -> DataFrame:
    """The messages as events. A message that cannot be read has no time, so it is rejected."""
    reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    messages = reader.options(subscribe=topic, startingOffsets="earliest").load()
    event = F.from_json(F.col("value").cast("string"), SCHEMA)
    return messages.select(event.alias("event"), "partition", "offset").select("event.*", "partition", "offset")


def to_topic(servers: str, topic: str) -> Callable[[DataFrame, int], None]:
    """A sink: each row as JSON, with what identifies it as the key. A match_id is one of its pattern, or its rule."""

    def write(rows: DataFrame, batch: int) -> None:
        identity = ["rule", "match_id"] if "match_id" in rows.columns else ["partition", "offset"]
        key = F.concat_ws("/", *(name for name in identity if name in rows.columns))
        messages = rows.select(key.alias("key"), F.to_json(F.struct("*")).alias("value"))
        messages.write.format("kafka").options(**{"kafka.bootstrap.servers": servers, "topic": topic}).save()

    return write


def watch(
    session: SparkSession, servers: str, checkpoint: str, live: bool = False, end: bool = False
) -> StreamingQuery:
    """Start the query: forever, or until everything available is processed; `end`: nothing more will come."""
    found = CAPTURED.match(
        payments(session, servers),
        partition_by="payment",
        order_by=["ts", "partition", "offset"],
        watermark="1 minute",
    )
    return found.start(
        matches=to_topic(servers, "captured"),
        timeouts=to_topic(servers, "expired"),
        late=to_topic(servers, "unusable"),
        rejected=to_topic(servers, "unusable"),
        checkpoint=checkpoint,
        trigger=None if live else {"availableNow": True},
        flush=end,
    )


def held(session: SparkSession, servers: str, topic: str) -> list[tuple[str, dict[str, Any]]]:
    """The keys and values of a topic."""
    reader = session.read.format("kafka").option("kafka.bootstrap.servers", servers)
    rows = reader.option("subscribe", topic).load().selectExpr("string(key)", "string(value)").collect()
    return [(row[0], json.loads(row[1])) for row in rows]


def show(session: SparkSession, servers: str, every_message: bool = False) -> None:
    """Print how much the topics hold, and some of it; each key counts once, however often it was written."""
    if every_message:
        print(json.dumps({topic: held(session, servers, topic) for topic in ("captured", "expired", "unusable")}))
    captured, expired, unusable = (dict(held(session, servers, t)) for t in ("captured", "expired", "unusable"))
    print(f"{len(captured)} captured, {len(expired)} expired, {len(unusable)} unusable")
    for match in sorted(expired.values(), key=lambda match: str(match["at"]))[:5]:
        reserved = match["reserved"]
        begin, over = reserved["ts"][11:16], match["at"][11:16]
        print(f"{match['payment']}: {reserved['amount']:.2f} reserved at {begin}, let go at {over}")


def session_for_kafka() -> SparkSession:
    builder = SparkSession.builder.master("local[2]").appName("payments").config("spark.log.level", "ERROR")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.showConsoleProgress", "false")
    return builder.config("spark.sql.session.timeZone", "UTC").config(map=connector()).getOrCreate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="+", choices=["send", "watch", "show"])
    parser.add_argument("--servers", default="localhost:9092", help="where Kafka is (default: localhost:9092)")
    parser.add_argument(
        "--checkpoint", default=str(BUILD / "kafka" / "checkpoint"), help="where `watch` keeps its state"
    )
    parser.add_argument("--minutes", nargs=2, type=int, default=(0, 60), metavar=("FIRST", "LAST"), help="what to send")
    parser.add_argument("--live", action="store_true", help="watch until stopped")
    parser.add_argument("--end", action="store_true", help="nothing more will come: decide what waits")
    parser.add_argument("--every-message", action="store_true", help="show each message, as JSON")
    given = parser.parse_args()
    try:
        session = session_for_kafka()
    except NotFetched as error:
        sys.exit(str(error))
    for step in given.steps:
        if step == "send":
            send(session, given.servers, *given.minutes)
        elif step == "watch":
            watch(session, given.servers, given.checkpoint, given.live, given.end).awaitTermination()
        else:
            show(session, given.servers, given.every_message)
    session.stop()


if __name__ == "__main__":
    main()
