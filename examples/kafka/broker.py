"""A single-node Kafka to try things with: `python examples/kafka/broker.py [--port 9092] [--place directory]`.

The first run fetches its jars (43 MB). It runs in the foreground until you stop it, and is ready when it prints "Kafka
Server started". Its data is in `--place`, by default build/kafka; remove that directory to start over.
"""

from __future__ import annotations

import argparse
import base64
import os
import socket
import subprocess
import sys
import uuid
from pathlib import Path

from maven import BUILD, Coordinates, NotFetched, fetched, java

VERSION = "4.1.0"
JARS = [
    Coordinates("org.apache.kafka", "kafka_2.13", VERSION),
    Coordinates("org.slf4j", "slf4j-simple", "1.7.36"),  # what Kafka logs with
]
LOGGING = [
    "-Dorg.slf4j.simpleLogger.logFile=System.out",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info",
]


def free_port() -> int:
    with socket.create_server(("localhost", 0)) as server:
        return int(server.getsockname()[1])


def settings(port: int, place: Path) -> str:
    """One process that is both broker and controller, with one replica instead of three."""
    controller = free_port()
    lines = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@localhost:{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://localhost:{port},CONTROLLER://localhost:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(place / "data"),
        "num.partitions": "2",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=9092, help="0: any that is free (default: 9092)")
    parser.add_argument("--place", type=Path, default=BUILD / "kafka", help="where data is kept")
    given = parser.parse_args()
    place: Path = given.place
    place.mkdir(parents=True, exist_ok=True)
    try:
        classes = f"{fetched('broker', JARS)}/*"
    except NotFetched as error:
        sys.exit(str(error))
    port = given.port or free_port()
    properties = place / "server.properties"
    properties.write_text(settings(port, place), encoding="utf-8")
    command = [java(), "-Xmx512m", *LOGGING, "-cp", classes]
    if not (place / "data").exists():
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        tool = ["kafka.tools.StorageTool", "format", "--cluster-id", cluster, "--config", str(properties)]
        subprocess.run([*command, *tool], check=True, stdout=subprocess.DEVNULL)
    print(f"Kafka {VERSION} at localhost:{port}, data in {place}", flush=True)
    os.execvp(command[0], [*command, "kafka.Kafka", str(properties)])  # a signal to this process reaches Kafka itself


if __name__ == "__main__":
    main()
