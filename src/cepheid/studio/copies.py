"""A pattern to take away: as Python, as a job file, as a rule.

In: the text of a pattern, its columns, and the sample. Out: text that reads the same file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from cepheid.studio.sample import Form, Sample

_READERS = {
    Form.PARQUET: ("import pyarrow.parquet as pq", "pq.read_table({path})"),
    Form.CSV: ("import pyarrow.csv", "pyarrow.csv.read_csv({path})"),
    Form.TABS: (
        "import pyarrow.csv",
        'pyarrow.csv.read_csv({path}, parse_options=pyarrow.csv.ParseOptions(delimiter="\\t"))',
    ),
    Form.LINES: ("import pandas as pd", "pd.read_json({path}, lines=True{times})"),
    Form.LIST: ("import pandas as pd", "pd.read_json({path}{times})"),
}
_SOURCES = {
    Form.PARQUET: ("parquet", []),
    Form.CSV: ("csv", ["header = true", "inferSchema = true"]),
    Form.TABS: ("csv", ["header = true", "inferSchema = true", 'sep = "\\t"']),
    Form.LINES: ("json", []),
    Form.LIST: ("json", ["multiLine = true"]),
}
"""The format by which Spark reads such a file, and the options that it needs."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What is taken away: the text of a pattern with its columns, and the sample that it was tried on."""

    text: str
    keys: list[str]
    order: list[str]
    type_column: str
    sample: Sample
    is_clause: bool = False

    @property
    def times(self) -> list[str]:
        """The columns that hold the events' times, which JSON writes as texts; a clause names its own."""
        names = self.sample.rows.column_names if self.is_clause else self.order
        kinds = dict(self.sample.columns)
        return [name for name in names if kinds.get(name, "").startswith(("timestamp", "date"))]


def copies(taken: Taken) -> dict[str, str]:
    """The pattern in each form, by the name of the form."""
    found = {"Python": as_python(taken), "job file": as_job(taken)}
    return found if taken.is_clause else found | {"rule": as_rule(taken)}


def as_python(taken: Taken) -> str:
    """A script that finds the pattern in the file."""
    needed, read = _READERS[taken.sample.form]
    quoted = _python_text(taken.text)
    face = "RowPattern" if taken.is_clause else "Pattern"
    if taken.text.lstrip().startswith("{"):
        made = f"{face}.from_json({quoted})"
    else:
        typed = f", type_column={taken.type_column!r}" if taken.type_column else ""
        made = f"{face}.parse({quoted}{typed})"
    arguments = [_argument("partition_by", taken.keys), _argument("order_by", taken.order)]
    given = "" if taken.is_clause else "".join(f", {argument}" for argument in arguments if argument)
    times = f", convert_dates={taken.times!r}" if taken.times else ""
    return (
        f"{needed}\n\nfrom cepheid import {face}\n\npattern = {made}\n"
        f"rows = {read.format(path=repr(taken.sample.name or 'events.parquet'), times=times)}\n"
        f"found = pattern.match_events(rows{given})\n{'print(found.matches)' if taken.is_clause else 'found.show()'}\n"
    )


def as_job(taken: Taken) -> str:
    """A job for `cepheid run`; a clause says itself what `[match]` would."""
    form, options = _SOURCES[taken.sample.form]
    if form == "json" and taken.times:
        options = [*options, "inferTimestamp = true"]
    needed = f"options = {{ {', '.join(options)} }}\n" if options else ""
    typed = f"type_column = {_toml(taken.type_column)}\n" if taken.type_column else ""
    columns = _toml_list("partition_by", taken.keys) + _toml_list("order_by", taken.order)
    return (
        f"[source]\npath = {_toml(taken.sample.name or 'events/')}\nformat = {_toml(form)}\n{needed}\n"
        f"[pattern]\ntext = {_toml(taken.text)}\n{typed}\n"
        + ("" if taken.is_clause else f"[match]\n{columns}\n")
        + '[sinks.matches]\npath = "out/matches"\nmode = "overwrite"\n'
    )


def as_rule(taken: Taken) -> str:
    """A rule file."""
    typed = f"type_column = {_toml(taken.type_column)}\n" if taken.type_column else ""
    columns = _toml_list("partition_by", taken.keys) + _toml_list("order_by", taken.order)
    return f'description = ""\npattern = {_toml(taken.text)}\n{typed}{columns}severity = "medium"\ntags = []\n'


def _argument(name: str, given: list[str]) -> str:
    if not given:
        return ""
    return f"{name}={given[0]!r}" if len(given) == 1 else f"{name}={given!r}"


def _python_text(text: str) -> str:
    if "\n" not in text or '"""' in text or "\\" in text:
        return repr(text)
    return f'"""\n{text.strip()}\n"""'


def _toml(text: str) -> str:
    """A TOML string: what JSON writes is one, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_list(name: str, given: list[str]) -> str:
    if not given:
        return ""
    return f"{name} = {_toml(given[0]) if len(given) == 1 else '[' + ', '.join(map(_toml, given)) + ']'}\n"
