"""A watch over Kafka whose driver dies: `python crash.py <examples/kafka> <servers> <checkpoint>`.

Half an hour of payments is sent; the process ends at once when the first matches have been written to their topic and
before Spark has noted that the micro-batch is done, as if it had been killed there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from pyspark.sql import DataFrame

EXAMPLE, SERVERS, CHECKPOINT = sys.argv[1:]
sys.path.insert(0, EXAMPLE)

import payments  # noqa: E402

DIED = 9


def to_topic_and_die(servers: str, topic: str) -> Callable[[DataFrame, int], None]:
    to_topic = ORIGINAL(servers, topic)

    def write(rows: DataFrame, batch: int) -> None:
        to_topic(rows, batch)
        if topic == "captured":
            os._exit(DIED)

    return write


ORIGINAL = payments.to_topic
payments.to_topic = to_topic_and_die
session = payments.session_for_kafka()
payments.send(session, SERVERS, 0, 30)
payments.watch(session, SERVERS, CHECKPOINT).awaitTermination()
