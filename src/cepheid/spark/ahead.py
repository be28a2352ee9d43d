"""What a worker needs to be ready, and what it will need next, loaded while it waits.

A worker that packs rows matches others a moment later, for which it loads the engine: most of a second. So it begins
with that in a thread as soon as it packs its first rows. Meanwhile the JVM computes rows, writes them and plans what
comes next, which takes as long on a new executor.

Preconditions: nothing that packs imports the engine or pandas (a test looks), so the two threads do not import the same
modules at the same time; whoever needs the engine before it is there waits for Python's lock of the module, or for
`code` where compiled code is taken. What is loaded ahead decides no result.

In: the work that has arrived. Out: nothing. Called in workers, before their work.
"""

from __future__ import annotations

import logging
import os
import sys
from importlib import import_module
from threading import Event, Thread

from pyspark import TaskContext

from cepheid.spark.cells import Named
from cepheid.spark.pack_workers import Pack

logger = logging.getLogger("cepheid.spark")
NAME = "cepheid-ahead"
"""How the thread is called."""
_BRIEF = 0.000_2
"""Seconds after which the thread lets the other go on: packing gives Python's lock away with each call of Arrow, and
would get it back after 25 times as long by default."""
_begun = Event()


def make_ready(work: object) -> None:
    """See to it that a worker can do this work, and what follows it soon, if Spark uses workers again."""
    if not isinstance(work.work if isinstance(work, Named) else work, Pack):
        from cepheid.spark.code import take_code

        take_code()
    elif not _begun.is_set() and TaskContext.get() is not None and os.environ.get("SPARK_REUSE_WORKER"):
        _begun.set()
        Thread(target=_load, name=NAME, daemon=True).start()


def _load() -> None:
    patience = sys.getswitchinterval()
    sys.setswitchinterval(_BRIEF)
    try:
        import numpy as np
        import pyarrow as pa

        import_module("cepheid.spark.workers")
        from cepheid.engine.sorting import grouped_by_time
        from cepheid.spark.code import take_code

        take_code()
        grouped_by_time(np.zeros(1, np.int64), 1, np.zeros(1, np.int64))  # numba becomes ready for its first function
        pa.array([0])  # pyarrow imports pandas, where there is one
    except Exception:  # whoever needs it meets the same, and says so
        logger.info("the engine was not loaded ahead", exc_info=True)
    finally:
        sys.setswitchinterval(patience)
