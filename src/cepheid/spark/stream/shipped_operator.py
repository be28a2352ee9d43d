"""The stateful operator as it travels: light until rows come.

In: what the workers must know. Out: what `transformWithStateInPandas` takes. Made by `operating` and by
`rules.stream_plan`.

Whenever a query starts, Spark starts a Python process of its own beside the driver, only to ask the operator for its
state variable. An operator that is pickled by its name would make that process import pandas, numba, pyarrow and this
package: more than a CPU second for nothing, at every start. So this class is written out whole (this module is pickled
by value, like `spark.shipping`), it declares the variable by itself, and the operator is read when the first rows or
the first timer of a task come. A task without either never reads it.

What runs here must import nothing but pyspark: a test looks at the modules that such a process has.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from cepheid.spark.stream.state.values import values_of

if TYPE_CHECKING:
    from cepheid.spark.stream.operator import StreamOperator
    from cepheid.spark.stream.state.pending import BucketWork


class ShippedOperator(StatefulProcessor):
    """Declares the state variable, and leaves everything else to the operator that it carries."""

    def __init__(self, work: BucketWork[Any]) -> None:
        from cepheid.spark.stream.operator import StreamOperator

        self.written: bytes = cloudpickle.dumps(StreamOperator(work))  # type: ignore[no-untyped-call]
        self.read: StreamOperator | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.values = values_of(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        return self._operator().handleInputRows(key, rows, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        return self._operator().handleExpiredTimer(key, timerValues, expiredTimerInfo)

    def close(self) -> None:
        pass

    def _operator(self) -> StreamOperator:
        if self.read is None:
            operator: StreamOperator = pickle.loads(self.written)
            operator.begin(self.handle, self.values)
            self.read = operator
        return self.read


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
