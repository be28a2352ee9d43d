"""Rules over Kafka, one of which is added while the stream runs: `python examples/kafka/rules.py`.

Events come from a topic of payments, as in `payments.py`; the matches of all rules go to the topic `alerts`. The stream
follows a directory of rule files. After half of the payments a second rule is written there: the stream takes it up
within seconds, in the same process, and the first rule goes on with what it has seen. `broker.py` starts a Kafka to try
it with.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic, sleep

from maven import NotFetched
from payments import held, payments, send, session_for_kafka, to_topic
from pyspark.sql import SparkSession

from cepheid import PatternSet
from cepheid.rules import directory
from cepheid.spark.rules.query import RulesQuery

TOPIC, ALERTS = "payments-for-rules", "alerts"
CAPTURED = """
description = "A reservation that was captured in time."
pattern = \"\"\"
    reserved[kind = 'RESERVED'] ~> taken[kind = 'CAPTURED' AND amount <= reserved.amount]
    within 15 minutes, skip past last event
\"\"\"
partition_by = "payment"
"""
LARGE = """
description = "A large payment that was captured within two minutes: someone should look at it."
pattern = "reserved[kind = 'RESERVED' AND amount > :limit] ~> taken[kind = 'CAPTURED'] within 2 minutes"
partition_by = "payment"
severity = "high"

[parameters]
limit = 50.0
"""


def watch(session: SparkSession, servers: str, rules: Path, checkpoint: str) -> RulesQuery:
    """Start one query for all rules of a directory, which it follows."""
    events = payments(session, servers, TOPIC)
    found = PatternSet.from_directory(rules).match_stream(
        events, order_by=["ts", "partition", "offset"], watermark="1 minute"
    )
    return found.start(matches=to_topic(servers, ALERTS), checkpoint=checkpoint, rules=directory(rules))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", default="localhost:9092", help="where Kafka is (default: localhost:9092)")
    parser.add_argument(
        "--place", default=None, help="where the rules and the state are kept (default: a new directory)"
    )
    given = parser.parse_args()
    try:
        session = session_for_kafka()
    except NotFetched as error:
        sys.exit(str(error))
    place = Path(given.place or mkdtemp())
    rules = place / "rules"
    rules.mkdir(parents=True)
    (rules / "captured.toml").write_text(CAPTURED)
    send(session, given.servers, 0, 30, TOPIC)
    query = watch(session, given.servers, rules, str(place / "state"))
    query.processAllAvailable()

    (rules / "large.toml").write_text(LARGE)
    begun = monotonic()
    while len(query.changes) == 1 and query.isActive:
        sleep(0.1)
    print(f"taken up after {monotonic() - begun:.0f} seconds: {query.changes[-1]}")
    send(session, given.servers, 30, 60, TOPIC)
    query.processAllAvailable()
    query.stop()

    alerts = dict(held(session, given.servers, ALERTS)).values()
    for rule, count in sorted(Counter(alert["rule"] for alert in alerts).items()):
        first = min(alert["start_time"] for alert in alerts if alert["rule"] == rule)
        print(f"{rule}: {count} alerts, the first for a payment of {first[11:16]}")
    session.stop()


if __name__ == "__main__":
    main()
