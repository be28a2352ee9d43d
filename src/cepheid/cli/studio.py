"""`cepheid studio [FILE]`: a local page to try patterns on a sample.

In: a file of rows, or none. Out: the address of the page; it is served until interrupted.
"""

from __future__ import annotations

import argparse
import webbrowser
from importlib.util import find_spec
from typing import Any

from cepheid.errors import InputError

_EPILOG = """\
examples:
  cepheid studio readings.csv
  cepheid studio --port 8123 --no-browser

The page is served on this machine only, and only to those who have the token in its address.
"""


def add_to(commands: Any) -> None:
    """Add the command to a parser."""
    studio = commands.add_parser(
        "studio",
        help="try patterns on a sample of your data, in a local page",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    studio.add_argument("file", metavar="FILE", nargs="?", help="a sample: .csv, .tsv, .json, .jsonl or .parquet")
    studio.add_argument("--port", type=int, default=0, help="the port; any free one if not given")
    studio.add_argument("--no-browser", action="store_true", help="only print the address")
    studio.set_defaults(run=_studio)


def _studio(arguments: argparse.Namespace) -> int:
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"the studio needs {' and '.join(missing)}.\n  Install it with: pip install 'cepheid[studio]'."
        )
    from cepheid.studio.sample import read_sample
    from cepheid.studio.server import Studio, serve

    sample = None if arguments.file is None else read_sample(arguments.file)

    def opened(address: str) -> None:
        print(f"The studio is at {address}\nPress Ctrl+C to end it.", flush=True)
        if not arguments.no_browser:
            webbrowser.open(address)

    serve(Studio(sample), arguments.port, opened)
    return 0
