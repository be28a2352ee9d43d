"""Results as a table on the terminal, as Markdown and as JSON.

In: `Section`s, each a table of one benchmark. Out: the same in three forms. A row may have two verdicts: `right`,
whether the answers were those they must be, and `reached`, whether the bar was.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console
from rich.table import Table

Cell: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: the key of its cells in a row, its heading, and how many decimals are shown."""

    key: str
    heading: str
    decimals: int = 2

    def text(self, row: dict[str, Cell]) -> str:
        cell = row.get(self.key)
        if cell is None:
            return "–"
        if isinstance(cell, bool):
            return "yes" if cell else "NO"
        if isinstance(cell, float):
            return f"{cell:,.{self.decimals}f}"
        return f"{cell:,}" if isinstance(cell, int) else cell


@dataclass
class Section:
    """The results of one benchmark."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: list[dict[str, Cell]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_right(self) -> bool:
        """Whether no answer was wrong."""
        return all(row.get("right") is not False for row in self.rows)


def environment() -> dict[str, Cell]:
    """Where and when this ran."""
    return {
        "machine": f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{package: version(package) for package in ("numba", "numpy", "pyarrow", "cepheid")},
        "spark": _installed("pyspark"),
        "java": _java(),
        "commit": _commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load": round(os.getloadavg()[0], 2),
    }


def headline(facts: dict[str, Cell]) -> str:
    """The environment in one line. What was measured long ago does not say its commit."""
    commit = f" ({facts['commit']})" if facts.get("commit") else ""
    return (
        f"{facts['machine']} · Python {facts['python']} · numba {facts['numba']} · numpy {facts['numpy']} · "
        f"pyarrow {facts['pyarrow']} · Spark {facts['spark']} · Java {facts['java']} · "
        f"Cepheid {facts['cepheid']}{commit} · {facts['date']} · load {facts['load']} at the start"
    )


def show(section: Section, console: Console) -> None:
    """Print a section."""
    table = Table(title=section.title, title_justify="left")
    for column in section.columns:
        is_text = any(isinstance(row.get(column.key), str) for row in section.rows)
        table.add_column(column.heading, justify="left" if is_text else "right")
    for row in section.rows:
        is_bad = row.get("right") is False or row.get("reached") is False
        table.add_row(*(column.text(row) for column in section.columns), style="red" if is_bad else None)
    console.print(table)
    for note in section.notes:
        console.print(f"  {note}", highlight=False, markup=False)
    console.print()


def as_markdown(facts: dict[str, Cell], sections: list[Section]) -> str:
    """All sections as a Markdown document."""
    parts = ["# Measurements", headline(facts)]
    for section in sections:
        parts += [f"## {section.title}", to_table(section), "\n".join(f"- {note}" for note in section.notes)]
    return "\n\n".join(part for part in parts if part) + "\n"


def to_table(section: Section) -> str:
    """A section's rows as a Markdown table, without columns that are empty throughout."""
    columns = [column for column in section.columns if any(row.get(column.key) is not None for row in section.rows)]
    lines = ["| " + " | ".join(column.heading for column in columns) + " |", "|" + "---|" * len(columns)]
    for row in section.rows:
        cells = (column.text(row).replace("|", "\\|") for column in columns)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def as_json(facts: dict[str, Cell], sections: list[Section]) -> dict[str, Any]:
    """All sections as plain data."""
    return {
        "environment": facts,
        "sections": {
            section.name: {
                "title": section.title,
                "columns": [asdict(column) for column in section.columns],
                "rows": section.rows,
                "notes": section.notes,
            }
            for section in sections
        },
    }


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _commit() -> str:
    """The commit of the sources, with a + if files differ from it; empty outside of a repository."""
    if shutil.which("git") is None:
        return ""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _java() -> str:
    if shutil.which("java") is None:
        return "none"
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'"([^"]+)"', said)
    return found.group(1) if found else "unknown"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [line.split(":")[1].strip() for line in information.read_text().splitlines() if "model name" in line]
        if names:
            return names[0]
    return platform.processor() or platform.machine() or sys.platform
