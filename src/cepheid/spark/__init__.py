"""Patterns on Spark DataFrames. The only room that imports pyspark."""

from cepheid.errors import InputError

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
