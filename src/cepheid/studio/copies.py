"""A pattern to take away: as Python, as a job file, as a rule.

In: the text of a pattern, its columns, and the name of the sample. Out: text.
"""

from __future__ import annotations

import json

_READERS = {
    ".parquet": ("import pyarrow.parquet as pq", "pq.read_table({path})"),
    ".csv": ("import pyarrow.csv", "pyarrow.csv.read_csv({path})"),
}
_ELSE = ("import pandas as pd", "pd.read_json({path}, lines=True)")


def copies(
    text: str, keys: list[str], order: list[str], type_column: str, sample: str, is_clause: bool
) -> dict[str, str]:
    """The pattern in each form, by the name of the form."""
    found = {"Python": as_python(text, keys, order, type_column, sample, is_clause)}
    if not is_clause:
        found["job file"] = as_job(text, keys, order, type_column, sample)
        found["rule"] = as_rule(text, keys, order, type_column)
    return found


def as_python(text: str, keys: list[str], order: list[str], type_column: str, sample: str, is_clause: bool) -> str:
    """A script that finds the pattern in the file."""
    ending = sample[sample.rfind(".") :].lower() if "." in sample else ""
    needed, read = _READERS.get(ending, _ELSE)
    quoted = _python_text(text)
    face = "RowPattern" if is_clause else "Pattern"
    if text.lstrip().startswith("{"):
        made = f"{face}.from_json({quoted})"
    else:
        typed = f", type_column={type_column!r}" if type_column else ""
        made = f"{face}.parse({quoted}{typed})"
    arguments = [] if is_clause else [_argument("partition_by", keys), _argument("order_by", order)]
    given = "".join(f", {argument}" for argument in arguments if argument)
    return (
        f"{needed}\n\nfrom cepheid import {face}\n\npattern = {made}\n"
        f"rows = {read.format(path=repr(sample or 'events.parquet'))}\n"
        f"found = pattern.match_events(rows{given})\n{'print(found.matches)' if is_clause else 'found.show()'}\n"
    )


def as_job(text: str, keys: list[str], order: list[str], type_column: str, sample: str) -> str:
    """A job for `cepheid run`."""
    form = {"csv": "csv", "parquet": "parquet"}.get(sample.rpartition(".")[2].lower(), "json")
    options = "options = { header = true, inferSchema = true }\n" if form == "csv" else ""
    typed = f"type_column = {_toml(type_column)}\n" if type_column else ""
    return (
        f"[source]\npath = {_toml(sample or 'events/')}\nformat = {_toml(form)}\n{options}\n"
        f"[pattern]\ntext = {_toml(text)}\n{typed}\n"
        f"[match]\n{_toml_list('partition_by', keys)}{_toml_list('order_by', order)}\n"
        '[sinks.matches]\npath = "out/matches"\nmode = "overwrite"\n'
    )


def as_rule(text: str, keys: list[str], order: list[str], type_column: str) -> str:
    """A rule file."""
    typed = f"type_column = {_toml(type_column)}\n" if type_column else ""
    columns = _toml_list("partition_by", keys) + _toml_list("order_by", order)
    return f'description = ""\npattern = {_toml(text)}\n{typed}{columns}severity = "medium"\ntags = []\n'


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
