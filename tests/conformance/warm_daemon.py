"""Spark's Python daemon, with all in memory that a row pattern on a stream needs: its workers, which are forks of it,
begin at once. A case is a few micro-batches, and each of them would import everything anew."""

from __future__ import annotations

import pandas
import pyarrow.compute
from pyspark import daemon
from pyspark.sql.streaming import stateful_processor_util

from cepheid.engine.warming import warm_up
from cepheid.spark.stream import operator
from cepheid.spark.stream.state import row_bucket

PRELOADED = (pandas, pyarrow.compute, stateful_processor_util, operator, row_bucket)

if __name__ == "__main__":
    warm_up("rows")
    daemon.manager()
