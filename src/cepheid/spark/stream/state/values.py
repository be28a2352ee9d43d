"""What Spark's state store keeps of a bucket: one state variable, which has values at places.

In: the handle of a stateful processor, or a checkpoint that is only read. Out: the values. Used by `store`; declared by
`shipped_operator`, which travels with this module (pickled by value): so nothing but pyspark is imported.

One variable and not one for each kind of value: Spark builds encoders for each of them, in every task anew.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

from pyspark import cloudpickle
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

NAME = "values"
"""The state variable."""
STEP, PIECE = "step", "piece"
"""A place: the number of a step, or one of those below; and which piece of the value."""
HEAD, BASE = 0, -1
"""In place of the number of a step, which is 1 or more."""


class Values(Protocol):
    """Values at places; they always speak of the bucket that Spark is at."""

    def getValue(self, place: Any, /) -> Any: ...
    def updateValue(self, place: Any, value: Any, /) -> None: ...
    def clear(self) -> None: ...


class Handle(Protocol):
    """Where the values come from: Spark's handle, or a checkpoint that is only read."""

    def getMapState(self, stateName: str, userKeySchema: StructType, valueSchema: StructType, /) -> Values: ...


def values_of(handle: Handle) -> Values:
    """Declare the state variable."""
    # Schemas as types: Spark would ask the JVM to read a text, for each task anew.
    place = StructType([StructField(STEP, LongType()), StructField(PIECE, IntegerType())])
    return handle.getMapState(NAME, place, StructType([StructField("value", BinaryType())]))


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
