"""What a Python worker has loaded, taken out of Python's search for garbage.

PySpark looks through all objects of a worker after each task (`gc.collect()` in its daemon). With the engine loaded,
with numba, Arrow and sqlglot, that takes a tenth of a second: more than most tasks. What is there when a worker begins
its second task of a kind stays for as long as it lives, so Python need not look at it again.

In: the kind of the work. Out: nothing. Called in workers, before their work.

Preconditions: PySpark has just collected, so what is there is in use; and it is done once for each kind of work, so
that what a single task happens to hold at that moment is all that can stay behind. Objects are still freed when nobody
refers to them; only cycles of the objects of that moment are not.
"""

from __future__ import annotations

import gc

from pyspark import TaskContext

_begun: dict[str, int] = {}
"""How many tasks of each kind this process has begun."""
_SECOND = 2


def settle(kind: str) -> None:
    """In a worker: a task of this kind begins."""
    if TaskContext.get() is None:  # not a worker: the process is the user's
        return
    _begun[kind] = _begun.get(kind, 0) + 1
    if _begun[kind] == _SECOND:
        gc.freeze()
