"""Files that the command line reads: jobs and patterns, which are text.

In: a path as it was given. Out: the text, or an `InputError` that says why there is none.
"""

from __future__ import annotations

from pathlib import Path

from cepheid.errors import InputError


def exists(path: str) -> bool:
    """Whether there is such a file or directory; what cannot be a path is none."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def is_file(path: str) -> bool:
    """Whether there is such a file; what cannot be a path is none."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def text_of(path: str) -> str:
    """What a file holds."""
    if "\0" in path:
        raise InputError(f"{path!r} is not a path.")
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no file {path!r}.") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not text: byte {error.start} is not UTF-8.\n  Jobs and patterns are text files in UTF-8."
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
