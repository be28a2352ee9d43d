"""A pattern on a Spark that cannot share a process with the other tests: Spark Connect, or executors of their own.

    python another_process.py connect
    python another_process.py connect-stream <directory>
    python another_process.py cluster [package.zip]

Prints what the pattern finds as one line of JSON, or the error of the job. `expected()` is the same without Spark.
"""

from __future__ import annotations

import json
import os
import random
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

MASTER = os.environ.get("CEPHEID_TEST_MASTER", "local-cluster[2,1,1024]")
SERVER = os.environ.get("SPARK_REMOTE", "local[1]")
NOON = datetime(2025, 1, 1, 12)
MIDDLE = NOON + timedelta(seconds=30)
DDL = "key string, ts timestamp, id long, name string, price double"
KEYS: dict[str, Any] = {"partition_by": "key", "order_by": ["ts", "id"]}
OPTIONS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
}
CLUSTER_OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.task.maxFailures": "1",
    "spark.log.level": "OFF",
}


def made_up_rows() -> list[dict[str, Any]]:
    chance = random.Random(5)
    return [
        {
            "key": chance.choice(["p", "q", None]),
            "ts": NOON + timedelta(seconds=chance.randrange(60)),
            "id": number,
            "name": chance.choice("abc"),
            "price": chance.choice([1.0, 2.5, None]),
        }
        for number in range(60)
    ]


def rising() -> Any:
    from cepheid import Pattern

    later = Pattern.begin("a").where("name = 'a'").followed_by("b").where("name = 'b' AND price >= LAST(a.price)")
    return later.within("10 seconds")


def named(rows: Any, *more: str) -> list[list[str]]:
    """Matches, or their events, in a form that travels as JSON."""
    names = ("key", "match_id", *more)
    return sorted([str(row[name]) for name in names] for row in rows)


def expected() -> dict[str, Any]:
    """What the same engine finds in the rows in memory."""
    found = rising().match_events(made_up_rows(), **KEYS)
    events = [
        {**match[variable], "match_id": match["match_id"], "variable": variable, "sequence": place}
        for match in found.matches
        for place, variable in enumerate("ab", start=1)
    ]
    prices = [{**match, "rise": match["b"]["price"] - match["a"]["price"]} for match in found.matches]
    return {
        "matches": named(found.matches, "start_time", "end_time"),
        "timeouts": named(found.timeouts, "at"),
        "measures": named(prices, "rise"),
        "every row": named(events, "variable", "sequence", "id"),
    }


def on_spark(frame: Any) -> dict[str, Any]:
    found = rising().match(frame, buckets=2, **KEYS)
    measured = rising().match(frame, measures={"rise": "LAST(b.price) - LAST(a.price)"}, shuffle="spark", **KEYS)
    every_row = rising().match(frame, rows="all", **KEYS)
    return {
        "matches": named(found.matches.collect(), "start_time", "end_time"),
        "timeouts": named(found.timeouts.collect(), "at"),
        "measures": named(measured.matches.collect(), "rise"),
        "every row": named(every_row.matches.collect(), "variable", "sequence", "id"),
    }


def connected() -> Any:
    """A session of Spark Connect. If executors do not have the package, it is sent to them: what a server was started
    with stays with the server."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.remote(SERVER).config(map=OPTIONS).getOrCreate()
    if (package := os.environ.get("CEPHEID_TEST_PACKAGE")) is not None:
        session.addArtifacts(package, pyfile=True)
    return session


def over_connect() -> dict[str, Any]:
    from pyspark.sql import functions as F

    from cepheid import Pattern
    from cepheid.spark.buckets import estimated_bytes

    session = connected()
    frame = session.createDataFrame([tuple(row.values()) for row in made_up_rows()], DDL)
    with_column = Pattern.begin("a").where(F.col("name") == "a").match(frame, **KEYS)
    explained = str(rising().match(frame, **KEYS).explain())
    return {
        **on_spark(frame),
        "kind": type(session).__module__,
        "column": len(with_column.matches.collect()),
        "explained": explained[explained.index("Execution") :],
        "bytes": estimated_bytes(session.range(10)),
    }


def stream_over_connect(place: Path) -> dict[str, Any]:
    """All sinks in one query that is flushed, with a restart between; then a query of the user's own."""
    from pyspark.sql import DataFrame

    from cepheid.spark import StateReader, files
    from cepheid.spark.stream.accounts import accounts
    from cepheid.spark.stream.query import PROVIDER, ROCKSDB

    session = connected()
    stream = session.readStream.schema(DDL).json(str(place / "in"))
    unusable = str(place / "unusable")

    def keep(rows: DataFrame, batch: int) -> None:
        rows.write.mode("overwrite").json(f"{unusable}/batch={batch}")

    def put(name: str, rows: list[dict[str, Any]]) -> None:
        (place / "in").mkdir(exist_ok=True)
        lines = [json.dumps(row, default=datetime.isoformat) for row in rows]
        (place / "in" / f"{name}.json").write_text("\n".join(lines))

    def run(flush: bool) -> Any:
        query = found.start(
            matches=files(str(place / "matches")),
            timeouts="memory",
            rejected=keep,
            checkpoint=str(place / "checkpoint"),
            trigger={"availableNow": True},
            flush=flush,
        )
        query.awaitTermination()
        return query

    rows = made_up_rows()
    put("1", [*[row for row in rows if row["ts"] < MIDDLE], {**rows[0], "ts": None}])
    found = rising().match(stream, watermark="0 seconds", **KEYS)
    counted = accounts(run(flush=False))
    waiting = StateReader(found, str(place / "checkpoint")).runs().count()
    timeouts = session.table("timeouts").collect()
    put("2", [row for row in rows if row["ts"] >= MIDDLE])
    run(flush=True)
    timeouts += session.table("timeouts").collect()
    session.conf.set(PROVIDER, ROCKSDB)
    writer = found.matches.writeStream.format("parquet").option("path", str(place / "own"))
    own = writer.option("checkpointLocation", str(place / "checkpoint-own")).trigger(availableNow=True).start()
    own.awaitTermination()
    return {
        "matches": named(files(str(place / "matches")).read(session).collect(), "start_time", "end_time"),
        "timeouts": named(timeouts, "at"),
        "rejected": [row["reason"] for row in session.read.json(unusable).collect()],
        "own": named(session.read.parquet(str(place / "own")).collect(), "start_time", "end_time"),
        "waiting": waiting,
        "counted": {name: sum(getattr(one, name) for one in counted) for name in ("rows", "irrelevant", "rejected")},
        "kind": type(session).__module__,
    }


def on_executors(package: str | None) -> dict[str, Any]:
    from pyspark.errors import PythonException
    from pyspark.sql import SparkSession

    options = {**OPTIONS, **CLUSTER_OPTIONS, **({"spark.submit.pyFiles": package} if package else {})}
    session = SparkSession.builder.master(MASTER).config(map=options).getOrCreate()
    frame = session.createDataFrame([tuple(row.values()) for row in made_up_rows()], DDL)
    try:
        return on_spark(frame)
    except PythonException as error:
        return {"error": str(error)}
    finally:
        session.stop()


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    match kind:
        case "connect":
            answer = over_connect()
        case "connect-stream":
            answer = stream_over_connect(Path(arguments[0]))
        case _:
            answer = on_executors(arguments[0] if arguments else None)
    print(json.dumps(answer))
