"""The state variables of a bucket: their names and types, and what gives them.

In: the handle of a stateful processor, or a checkpoint that is only read. Out: the three variables. Used by `store`;
declared by `shipped_operator`, which travels with this module (pickled by value): so nothing but pyspark is imported.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

from pyspark import cloudpickle
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType


class Value(Protocol):
    """A state variable with one value."""

    def get(self) -> Any: ...
    def update(self, newValue: Any, /) -> None: ...


class Values(Protocol):
    """A state variable with a value for each key."""

    def getValue(self, key: Any, /) -> Any: ...
    def updateValue(self, key: Any, value: Any, /) -> None: ...
    def removeKey(self, key: Any, /) -> None: ...
    def clear(self) -> None: ...


class Handle(Protocol):
    """Where state variables come from: Spark's handle, or a checkpoint that is only read."""

    def getValueState(self, stateName: str, schema: StructType, /) -> Value: ...
    def getMapState(self, stateName: str, userKeySchema: StructType, valueSchema: StructType, /) -> Values: ...


class Variables:
    """What is kept of a bucket (see `store`); they always speak of the bucket that Spark is at."""

    def __init__(self, handle: Handle) -> None:
        # Schemas as types: Spark would ask the JVM to read a text, for each task anew.
        value = StructType([StructField("value", BinaryType())])
        self.head = handle.getValueState("head", value)
        self.base = handle.getMapState("base", StructType([StructField("piece", IntegerType())]), value)
        self.journal = handle.getMapState("journal", StructType([StructField("step", LongType())]), value)


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
