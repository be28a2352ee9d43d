"""Patterns on Spark DataFrames. The only room that imports pyspark."""

from typing import TYPE_CHECKING, Any

from cepheid.errors import InputError

if TYPE_CHECKING:
    from cepheid.spark.session import SESSION_OPTIONS
    from cepheid.spark.sinks import files, table
    from cepheid.spark.stream.accounts import accounts
    from cepheid.spark.stream.state.reader import StateReader

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


def __getattr__(name: str) -> Any:
    """Import what users need only when they use it, because workers import this package too."""
    if name == "SESSION_OPTIONS":
        from cepheid.spark.session import SESSION_OPTIONS

        return SESSION_OPTIONS
    if name == "StateReader":
        from cepheid.spark.stream.state.reader import StateReader

        return StateReader
    if name == "accounts":
        from cepheid.spark.stream.accounts import accounts

        return accounts
    if name in ("files", "table"):
        from cepheid.spark import sinks

        return getattr(sinks, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
