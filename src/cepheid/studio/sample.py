"""A sample of rows: CSV, Parquet or JSON, from a file or as the page sends it.

In: a name and bytes, or a path. Out: a `Sample`, or an `InputError`.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.json as pa_json
import pyarrow.parquet as pq

from cepheid.errors import InputError
from cepheid.rows.given import to_table

MOST_ROWS = 100_000
"""Rows that a sample keeps."""
_TIMES = ("ts", "time", "timestamp", "t", "datetime", "date", "event_time", "at", "when", "day")


class Form(Enum):
    """How the rows of a file are written."""

    CSV = "csv"
    TABS = "values with tabs between"
    LINES = "a JSON object a line"
    LIST = "a list of JSON objects"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows with the name of where they came from."""

    name: str
    rows: pa.Table
    left_out: int = 0
    form: Form = Form.PARQUET

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Each column with its type."""
        return [(field.name, str(field.type)) for field in self.rows.schema]

    @property
    def likely_time(self) -> str:
        """The column that looks like the time of the events."""
        named = {field.name.lower(): field.name for field in self.rows.schema if _orders(field.type)}
        for name in _TIMES:
            if name in named:
                return str(named[name])
        times = [field.name for field in self.rows.schema if pa.types.is_temporal(field.type)]
        return str(times[0]) if times else ""


def read_sample(path: str) -> Sample:
    """The sample that a file holds."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {path!r}.\n  Give a CSV, Parquet or JSON file.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    return parse_sample(Path(path).name, data)


def parse_sample(name: str, data: bytes) -> Sample:
    """The sample in some bytes; the ending of the name says the format."""
    ending = Path(name).suffix.lower()
    form = _form(name, ending, data)
    try:
        table = _read(form, data)
    except (pa.ArrowException, ValueError) as error:
        problem = str(error).splitlines()[0]
        raise InputError(f"{name} cannot be read as {ending.removeprefix('.')}: {problem}") from error
    rows = to_table(table.slice(0, MOST_ROWS))
    return Sample(name, _with_plain_times(rows), table.num_rows - rows.num_rows, form)


def _form(name: str, ending: str, data: bytes) -> Form:
    match ending:
        case ".csv":
            return Form.CSV
        case ".tsv":
            return Form.TABS
        case ".json" | ".jsonl" | ".ndjson":
            return Form.LIST if data.lstrip()[:1] == b"[" else Form.LINES
        case ".parquet":
            return Form.PARQUET
    raise InputError(f"{name!r} has an ending that is not known.\n  Give .csv, .tsv, .json, .jsonl or .parquet.")


def _read(form: Form, data: bytes) -> pa.Table:
    match form:
        case Form.CSV | Form.TABS:
            options = pc_csv.ParseOptions(delimiter="\t" if form is Form.TABS else ",")
            return pc_csv.read_csv(io.BytesIO(data), parse_options=options)
        case Form.LIST:
            return pa.Table.from_pylist(json.loads(data))
        case Form.LINES:
            return pa_json.read_json(io.BytesIO(data))
        case Form.PARQUET:
            return pq.read_table(io.BytesIO(data))


def _with_plain_times(rows: pa.Table) -> pa.Table:
    """Strings that all are times, as JSON has them, become timestamps."""
    for place, field in enumerate(rows.schema):
        if field.name.lower() in _TIMES and (pa.types.is_string(field.type) or pa.types.is_large_string(field.type)):
            try:
                column = pc.cast(rows[field.name], pa.timestamp("us", "UTC"))
            except pa.ArrowException:
                try:
                    column = pc.cast(rows[field.name], pa.timestamp("us"))
                except pa.ArrowException:
                    continue
            rows = rows.set_column(place, field.name, column)
    return rows


def _orders(kind: pa.DataType) -> bool:
    return bool(pa.types.is_temporal(kind) or pa.types.is_integer(kind))
