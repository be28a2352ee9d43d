"""Two spends of one user within ten seconds, live from a socket: `python examples/socket/spends.py [host] [port]`.

Each line is `user,amount`. Start a server first, such as `nc -lk 9999`, then type lines. Matches go to the console, and
so do timeouts: first spends that no second one followed. The watermark decides when, and later lines move it.
"""

from __future__ import annotations

import sys
import tempfile

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from cepheid import Pattern
from cepheid.spark.stream.sinks import Sink

TWO_SPENDS = (
    Pattern.begin("first")
    .where("amount > 0")
    .followed_by("second")
    .where("amount > 0")
    .within("10 seconds")
    .skip("past_last_event")
)


def spends(session: SparkSession, host: str, port: int) -> DataFrame:
    """The lines from the socket as events, with the time at which they arrived."""
    lines = session.readStream.format("socket").options(host=host, port=port, includeTimestamp=True).load()
    parts = F.split("value", ",")
    return lines.select(
        F.trim(parts[0]).alias("user"), parts[1].cast("double").alias("amount"), F.col("timestamp").alias("ts")
    )


def start(
    session: SparkSession, host: str, port: int, checkpoint: str, matches: Sink, timeouts: Sink
) -> StreamingQuery:
    found = TWO_SPENDS.match(spends(session, host, port), partition_by="user", order_by="ts", watermark="0 seconds")
    return found.start(matches=matches, timeouts=timeouts, checkpoint=checkpoint)


if __name__ == "__main__":
    spark = SparkSession.builder.master("local[2]").appName("spends").config("spark.log.level", "ERROR").getOrCreate()
    host, port = (sys.argv[1:] + ["localhost", "9999"][len(sys.argv) - 1 :])[:2]
    start(spark, host, int(port), tempfile.mkdtemp(), "console", "console").awaitTermination()
