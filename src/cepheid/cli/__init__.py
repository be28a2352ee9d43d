"""The command line: `cepheid run`, `sql`, `explain`, `check`, `state`, `migrate`, `prepare`, `why`, `studio`, `demo` …

One module a command; `entry` reads the arguments and turns errors into one screen of text and an exit code.
"""

import sys
from collections.abc import Sequence
from importlib.util import find_spec


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code says whether it succeeded."""
    if find_spec("rich") is None:
        print("cepheid: the command line needs rich.\n  Install it with: pip install 'cepheid[cli]'.", file=sys.stderr)
        return 2
    from cepheid.cli.entry import main as run

    return run(arguments)


__all__ = ["main"]
