"""Spark's Python daemon with all in memory that a job under kills needs: its workers, which are forks of it, begin at
once. Otherwise most kills would hit a worker that imports, and not one that works."""

from __future__ import annotations

import pandas
import pyarrow.compute
from pyspark import daemon
from pyspark.sql.streaming import stateful_processor_util

from cepheid.engine.warming import warm_up
from cepheid.spark.rules import bucket as rules_bucket
from cepheid.spark.stream import operator
from cepheid.spark.stream.state import bucket, row_bucket

LOADED = (pandas, pyarrow.compute, stateful_processor_util, operator, bucket, row_bucket, rules_bucket)

if __name__ == "__main__":
    warm_up("main", "rows")
    daemon.manager()
