"""Measure: `python bench/run.py [NAME …]`, where a name is a section or a group of them.

Prints a table a section, writes the same as JSON or Markdown, and draws it. Bars that were not reached are shown as
such; the exit status is 1 only if an answer was wrong.
"""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from pathlib import Path

from measuring import Settings
from reporting import Section, as_json, as_markdown, environment, headline, show
from rich.console import Console

SECTIONS = {
    "start": "start",
    "throughput": "throughput",
    "queries": "queries",
    "waiting": "waiting",
    "memory": "memory",
    "stocks": "stocks",
    "peers": "peers",
    "python": "python_peer",
    "batch": "batch",
    "profile": "batch_profile",
    "handwritten": "handwritten",
    "windows": "windows",
    "growth": "growth",
    "sql": "row_patterns",
    "rules": "rules",
    "rules-stream": "rule_streams",
    "streaming": "streaming",
    "hot": "hot_key",
    "why": "why",
}
"""Each section, and the module whose `measure(settings)` gives it. A module with a `draw(section)` gives a picture too.
Modules are imported when they are needed: some need Spark."""
GROUPS = {"engine": ("start", "throughput", "queries", "waiting", "memory", "stocks")}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = f"of {', '.join(SECTIONS)}; or {', '.join(GROUPS)}; all if none is named"
    parser.add_argument("names", nargs="*", metavar="NAME", help=names)
    parser.add_argument(
        "--case", action="append", default=[], help="measure only this row of a section; may be repeated"
    )
    parser.add_argument("--events", type=int, help="how many events, where a section lets one choose")
    parser.add_argument("--repeat", type=int, default=5, help="measurements that the median is taken of (5)")
    parser.add_argument("--smoke", action="store_true", help="everything tiny, in seconds, to see that it works")
    parser.add_argument("--stocks", type=Path, help="where stocks.stream.xz lies")
    parser.add_argument("--flink", type=Path, help="the directory with FlinkCEP's jars; see experiments/semantics")
    parser.add_argument("--core", type=Path, help="the program that runs CORE; see bench/windows.py")
    parser.add_argument("--json", type=Path, help="write the results as JSON")
    parser.add_argument("--markdown", type=Path, help="write the results as Markdown")
    parser.add_argument("--plots", type=Path, help="a directory for the pictures")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in SECTIONS and name not in GROUPS]
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join((*SECTIONS, *GROUPS))}")
    if given.repeat < 1 or (given.events is not None and given.events < 1):
        parser.error("--repeat and --events must be 1 or more")
    return given


def main() -> int:
    given = arguments()
    repeat = min(given.repeat, 2) if given.smoke else given.repeat
    results: list[Section] = []

    def write(*unfinished: Section) -> None:
        """What there is: a run that is stopped leaves what it has."""
        measured = [*results, *unfinished]
        if given.json:
            given.json.write_text(json.dumps(as_json(facts, measured), indent=1, ensure_ascii=False), encoding="utf-8")
        if given.markdown:
            given.markdown.write_text(as_markdown(facts, measured), encoding="utf-8")

    settings = Settings(
        repeat, given.events, given.smoke, given.stocks, given.flink, given.core, tuple(given.case), write
    )
    console = Console(width=None if Console().is_terminal else 200)
    facts = environment()
    console.print(headline(facts), highlight=False)
    for name in _sections(given.names):
        module = import_module(SECTIONS[name])
        results.append(module.measure(settings))
        show(results[-1], console)
        if given.plots and results[-1].rows and hasattr(module, "draw"):
            given.plots.mkdir(parents=True, exist_ok=True)
            module.draw(results[-1]).savefig(given.plots / f"{name}.svg")
        write()
    return 0 if all(section.is_right for section in results) else 1


def _sections(names: list[str]) -> list[str]:
    chosen = [section for name in names for section in GROUPS.get(name, (name,))]
    return list(dict.fromkeys(chosen or SECTIONS))


if __name__ == "__main__":
    raise SystemExit(main())
