"""The command line: `cepheid run`, `explain`, `diagram`, `check`, `state` and `demo`.

One module a command; `entry` reads the arguments and turns errors into one screen of text and an exit code.
"""

from cepheid.cli.entry import main

__all__ = ["main"]
