"""How work gets to Spark's workers: with a check that they can do it.

In: an object of this package that is called with Arrow batches. Out: a function for `mapInArrow`. The function is
written out whole (this module is pickled by value), so that a worker without Cepheid can say what is missing; the work
itself is read only after that check.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame

from cepheid.spark.cells import Named
from cepheid.version import VERSION

Work = Callable[[Iterable[Any]], Iterator[Any]]


def mapped(rows: DataFrame, work: Work, schema: Any) -> DataFrame:
    """What the work makes of rows. `mapInArrow` takes a name with dots for a path: where there is one, columns travel
    by their numbers."""
    if any("." in name or "`" in name for name in rows.columns):
        work = Named(work, tuple(rows.columns))
        rows = rows.toDF(*(f"column_{number}" for number in range(len(rows.columns))))
    return rows.mapInArrow(shipped(work), schema)


def shipped(work: Work) -> Work:
    """The work as a function that can travel."""
    written, version = pickle.dumps(work), VERSION

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        import pickle
        import sys

        here = f"Spark's worker runs {sys.executable} (Python {sys.version.split()[0]})"
        remedy = (
            "Install cepheid for that Python on every node, or ship it with the job: --py-files with the wheel renamed "
            "to .zip (Spark puts no .whl on the path) where its dependencies are installed, over Spark Connect "
            "spark.addArtifacts('cepheid.zip', pyfile=True), or --archives with a packed environment; PYSPARK_PYTHON "
            "says which Python workers run."
        )
        try:
            from cepheid.version import VERSION as version_here
        except ImportError as error:
            raise RuntimeError(f"{here}, which cannot import cepheid: {error}.\n  {remedy}") from error
        if version_here != version:
            raise RuntimeError(
                f"{here} with cepheid {version_here}, but the driver has {version}.\n"
                f"  Install the same version on both sides. {remedy}"
            )
        try:
            received = pickle.loads(written)
        except ImportError as error:
            found = [name for name in ("numba", "numpy", "pyarrow", "sqlglot") if not _is_there(name)]
            raise RuntimeError(
                f"{here}, where cepheid lacks {', '.join(found) or error.name or error}: {error}.\n  {remedy}"
            ) from error
        from cepheid.spark.ahead import make_ready
        from cepheid.spark.settling import settle

        make_ready(received)
        settle(type(received).__name__)
        yield from received(batches)

    def _is_there(name: str) -> bool:
        import importlib.util

        return importlib.util.find_spec(name) is not None

    return run


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
