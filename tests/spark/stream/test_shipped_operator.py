"""The operator as it travels: light where Spark only asks for its state variables, and the same where rows come."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import pytest

pytest.importorskip("pyspark.sql.streaming.tws_tester", reason="Spark's tester of stateful operators came with 4.2")

from pyspark import cloudpickle
from pyspark.sql.streaming.tws_tester import TwsTester
from spark.stream.test_operator import A_B, event, ids, milliseconds, stream_of, table

from cepheid.spark.stream.operator import StreamOperator
from cepheid.spark.stream.shipped_operator import ShippedOperator

ASKED = """
import json, pickle, sys
import pyspark.sql.streaming.transform_with_state_driver_worker

class Handle:
    declared = []
    def getMapState(self, name, key, value):
        self.declared.append(name)

operator = pickle.load(sys.stdin.buffer)
operator.init(Handle())
operator.close()
print(json.dumps([Handle.declared, sorted(name for name in sys.modules if "." not in name)]))
"""


def test_the_process_that_asks_for_state_variables_imports_nothing_but_pyspark() -> None:
    written = cloudpickle.dumps(ShippedOperator(stream_of(A_B.tree).work))
    asked = subprocess.run([sys.executable, "-c", ASKED], input=written, capture_output=True, timeout=300)
    assert asked.returncode == 0, asked.stderr.decode()
    declared, modules = json.loads(asked.stdout)
    assert declared == ["values"]
    assert "pyspark" in modules
    assert not {"cepheid", "numba", "numpy", "pandas", "pyarrow", "sqlglot"} & set(modules)


def test_what_travels_does_what_the_operator_does() -> None:
    rows = [event(1, 1, "a"), event(2, 2, "a", "other"), event(3, 3, "b")]
    found = []
    for made in (StreamOperator, ShippedOperator):
        stream = stream_of(A_B.tree)
        travelled = pickle.loads(cloudpickle.dumps(made(stream.work)))
        stream.tester = TwsTester(travelled, timeMode="EventTime", eventTimeExtractor=lambda cell: 1 << 62)
        stream.batch(table(rows), 0)
        stream.batch(table([event(20, 4, "d")]), milliseconds(14))  # timers fire: the window is over
        stream.end()
        found.append((ids(stream.found["matches"]), len(stream.found["timeouts"]), stream.counts))
    assert found[0] == found[1]
    assert found[1][:2] == ([(1, 3)], 1)
