"""Measure the engine: `python bench/engine.py [SECTION …]`.

Prints a table a section, and writes the same as JSON or Markdown. Bars that were not reached are shown as such; the
exit status is 1 only if an answer was wrong.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import compilation
import memory
import queries
import stocks
import throughput
import waiting
from measuring import Settings
from reporting import Section, as_json, as_markdown, environment, headline, show
from rich.console import Console

SECTIONS: dict[str, Callable[[Settings], Section]] = {
    "compile": compilation.measure,
    "throughput": throughput.measure,
    "queries": queries.measure,
    "waiting": waiting.measure,
    "memory": memory.measure,
    "stocks": stocks.measure,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)}; all if none is named"
    )
    parser.add_argument("--events", type=int, help="events of throughput (10,000,000); memory takes ten times as many")
    parser.add_argument("--repeat", type=int, default=5, help="measurements that the median is taken of (5)")
    parser.add_argument("--smoke", action="store_true", help="everything tiny, in seconds, to see that it works")
    parser.add_argument("--stocks", type=Path, help="where stocks.stream.xz lies")
    parser.add_argument("--json", type=Path, help="write the results as JSON")
    parser.add_argument("--markdown", type=Path, help="write the results as Markdown")
    given = parser.parse_args()
    unknown = [name for name in given.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    if given.repeat < 1 or (given.events is not None and given.events < 1):
        parser.error("--repeat and --events must be 1 or more")
    return given


def main() -> int:
    given = arguments()
    settings = Settings(min(given.repeat, 2) if given.smoke else given.repeat, given.events, given.smoke, given.stocks)
    console = Console(width=None if Console().is_terminal else 200)
    facts = environment()
    console.print(headline(facts), highlight=False)
    results: list[Section] = []
    for name in given.sections or SECTIONS:
        results.append(SECTIONS[name](settings))
        show(results[-1], console)
        # Written after each section, so that a run that is stopped leaves what it has.
        if given.json:
            given.json.write_text(json.dumps(as_json(facts, results), indent=1, ensure_ascii=False), encoding="utf-8")
        if given.markdown:
            given.markdown.write_text(as_markdown(facts, results), encoding="utf-8")
    return 0 if all(section.is_right for section in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
