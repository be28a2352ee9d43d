"""Patterns on Spark DataFrames. The only room that imports pyspark."""

from typing import TYPE_CHECKING

from cepheid.errors import InputError
from cepheid.on_demand import on_demand

if TYPE_CHECKING:
    from cepheid.spark.session import SESSION_OPTIONS
    from cepheid.spark.sinks import files, table
    from cepheid.spark.stream.accounts import accounts
    from cepheid.spark.stream.state.reader import StateReader
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "SESSION_OPTIONS": "cepheid.spark.session",
            "StateReader": "cepheid.spark.stream.state.reader",
            "accounts": "cepheid.spark.stream.accounts",
            "files": "cepheid.spark.sinks",
            "table": "cepheid.spark.sinks",
        },
    )

__all__ = ["SESSION_OPTIONS", "StateReader", "accounts", "files", "table"]

OLDEST = (4, 0)

try:
    from pyspark import __version__ as _version
except ModuleNotFoundError as error:
    raise InputError(
        "Spark is not installed for this Python.\n  Install it with: pip install 'cepheid[spark]'."
    ) from error
if tuple(int(part) for part in _version.split(".")[:2]) < OLDEST:
    raise InputError(
        f"this is Spark {_version}; Cepheid needs Spark {'.'.join(map(str, OLDEST))} or newer.\n"
        "  Install a newer one with: pip install 'cepheid[spark]'."
    )
