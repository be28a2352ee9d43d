"""A job as TOML: which rows, which pattern, what to do with what is found.

In: a file and `--set key=value` pairs. Out: a `Job`, or an `InputError` that names the key. Nothing is run here.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from cepheid.cli.files import text_of
from cepheid.errors import InputError
from cepheid.options import duration

_SOURCE: dict[str, type | tuple[type, ...]] = {
    "format": str,
    "path": (str, list),
    "table": str,
    "schema": str,
    "where": str,
    "options": dict,
    "stream": bool,
}
_SECTIONS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "source": _SOURCE,
    "sources": {},
    "history": {**_SOURCE, "seam": (str, datetime)},
    "pattern": {"file": str, "text": str, "type_column": str},
    "rules": {"directory": str},
    "match": {
        "partition_by": (str, list, dict),
        "order_by": (str, list),
        "measures": dict,
        "columns": (str, list),
        "rows": str,
        "buckets": int,
        "shuffle": str,
        "nulls": str,
        "max_bucket_bytes": int,
        "max_runs": int,
        "max_matches_per_event": int,
        "max_state_bytes": int,
        "watermark": str,
        "max_ahead": str,
        "time": str,
        "id": str,
    },
    "sinks": dict.fromkeys(
        ("matches", "timeouts", "broken", "unmatched", "late", "rejected", "rejected_rules", "timeline"), dict
    ),
    "stream": {"checkpoint": str, "trigger": str, "flush": bool, "on_error": str, "idle": str},
    "parameters": {},
    "spark": {},
}
_SINK: dict[str, type | tuple[type, ...]] = {
    "format": str,
    "path": str,
    "table": str,
    "mode": str,
    "options": dict,
    "partition_by": (str, list),
}
_TIMELINE: dict[str, type | tuple[type, ...]] = {"path": str, "n": int}


@dataclass(frozen=True, slots=True)
class Source:
    """Rows that Spark reads: a path and its format, or a table."""

    format: str | None
    path: tuple[str, ...]
    table: str | None
    schema: str | None
    where: str | None
    options: dict[str, str]
    is_stream: bool


@dataclass(frozen=True, slots=True)
class History:
    """Events that come before those of a stream."""

    source: Source
    seam: str | datetime | None
    """The moment from which on the stream counts."""


@dataclass(frozen=True, slots=True)
class Streaming:
    """How a stream runs: where its state is kept, when it looks for rows, whether it ends the input."""

    checkpoint: str
    trigger: str | None
    flush: bool
    on_error: str
    idle: str | None
    history: History | None = None


@dataclass(frozen=True, slots=True)
class Sink:
    """Where an output is written."""

    format: str | None
    path: str | None
    table: str | None
    mode: str
    options: dict[str, str]
    partition_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """A job, complete."""

    source: Source
    """Its rows; if there are several tables, the first one."""
    pattern: str
    """A pattern as the command line takes it: a path or a text."""
    type_column: str | None
    match: dict[str, Any]
    """Arguments of `Pattern.match`."""
    sinks: dict[str, Sink]
    stream: Streaming | None
    timeline: tuple[str, int] | None = None
    """Where a timeline is drawn, and of how many partitions."""
    spark: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    """Values for the parameters of the pattern's conditions."""
    rules: str | None = None
    """The directory of rules, where the job has one instead of a pattern."""
    sources: dict[str, Source] = field(default_factory=dict)
    """By element: its rows, where the job has several tables."""


def read_job(path: str, changes: list[str]) -> Job:
    """The job of a file, with some keys set otherwise. Paths of pattern files are relative to the job's file."""
    text = text_of(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}.\n  `cepheid run --help` shows a job.") from error
    except RecursionError:
        raise InputError(f"{path} is nested too deeply.\n  `cepheid run --help` shows a job.") from None
    for change in changes:
        _set(data, change)
    _check(data, dict.fromkeys(_SECTIONS, dict), "the job")
    for section, keys in _SECTIONS.items():
        if section not in ("spark", "parameters", "sources"):  # whose keys are not ours
            _check(data.get(section, {}), keys, f"[{section}]")
    return _job(data, Path(path).parent)


def _job(data: dict[str, Any], directory: Path) -> Job:
    sources = _sources(data)
    source = next(iter(sources.values()))
    pattern = data.get("pattern", {})
    rules = data.get("rules", {}).get("directory")
    if rules is not None and (pattern or data.get("parameters") or "timeline" in data.get("sinks", {})):
        raise InputError(
            "a job has [rules] or [pattern], not both; parameters are in the rule files, and a timeline is of one "
            "pattern.\n  Leave one of them out."
        )
    if rules is None and ("file" in pattern) == ("text" in pattern):
        raise InputError('[pattern] needs either file or text.\n  For example: file = "pattern.json".')
    sinks = dict(data.get("sinks", {}))
    drawn = sinks.pop("timeline", None)
    if not sinks and drawn is None:
        raise InputError('the job has no sink.\n  For example: [sinks.matches] with path = "out/matches".')
    for name in ("broken", "unmatched"):
        if rules is not None and name in sinks:
            raise InputError(f"[sinks.{name}] is of one pattern, not of [rules].\n  Run that rule by itself.")
    if drawn is not None:
        _check(drawn, _TIMELINE, "[sinks.timeline]")
        if "path" not in drawn:
            raise InputError('[sinks.timeline] needs a path.\n  For example: path = "out/timeline.html".')
    if "" not in sources and rules is not None:
        raise InputError("[sources] is for one pattern: it gives tables to its elements.\n  Give one [source].")
    return Job(
        source,
        str(directory / pattern["file"]) if "file" in pattern else pattern.get("text", ""),
        pattern.get("type_column"),
        _match(data.get("match", {})),
        {name: _sink(name, given) for name, given in sinks.items()},
        _streaming(source.is_stream, data, drawn is not None),
        None if drawn is None else (drawn["path"], drawn.get("n", 10)),
        _texts(_flat(data.get("spark", {}))),
        dict(data.get("parameters", {})),
        None if rules is None else str(directory / rules),
        {} if "" in sources else sources,
    )


def _sources(data: dict[str, Any]) -> dict[str, Source]:
    """The tables by element; the only one of a job has no name."""
    if "sources" not in data:
        return {"": _source(data.get("source", {}), "[source]")}
    if "source" in data or not data["sources"]:
        raise InputError("a job has [source], or [sources.NAME] for each element.\n  Leave one of them out.")
    sources: dict[str, Source] = {}
    for name, given in data["sources"].items():
        place = f"[sources.{name}]"
        if not isinstance(given, dict):
            raise InputError(f'{place} is not a section.\n  For example: [sources.net] with path = "network/".')
        _check(given, {**_SOURCE, "elements": (str, list)}, place)
        read = _source(given, place)
        for element in _listed(given.get("elements", name)):
            if element in sources:
                raise InputError(f"{place}: the element {element!r} has a table already.\n  Name it once.")
            sources[element] = read
    if len({one.is_stream for one in sources.values()}) > 1:
        raise InputError("some of [sources] are streams, others are not.\n  Write stream = true for all or for none.")
    return sources


def _source(given: dict[str, Any], place: str) -> Source:
    if ("path" in given) == ("table" in given):
        raise InputError(f'{place} needs a path or a table, and not both.\n  For example: path = "readings/".')
    return Source(
        given.get("format"),
        _listed(given.get("path", ())),
        given.get("table"),
        given.get("schema"),
        given.get("where"),
        _texts(given.get("options", {})),
        given.get("stream", False),
    )


def _streaming(is_stream: bool, data: dict[str, Any], draws: bool) -> Streaming | None:
    """What only a stream has, and only a batch."""
    given, sinks = data.get("stream"), data.get("sinks", {})
    if not is_stream:
        if given is not None:
            raise InputError(
                "[stream] is given, but the source is not a stream.\n  Write stream = true under [source]."
            )
        if "history" in data:
            raise InputError("[history] comes before a stream.\n  A batch reads it as a part of its [source].")
        for name in ("late", "rejected", "rejected_rules"):
            if name in sinks:
                raise InputError(f"[sinks.{name}] is for streams; a batch has no such rows.")
        return None
    if given is None or "checkpoint" not in given:
        raise InputError(
            'a stream needs a checkpoint, where its state is kept.\n  Under [stream]: checkpoint = "state/shoplifting".'
        )
    if draws:
        raise InputError("[sinks.timeline] is for batches.\n  Draw a timeline from the files that the stream wrote.")
    for name, sink in sinks.items():
        for key in ("table", "mode", "partition_by"):
            if key in sink:
                raise InputError(f"[sinks.{name}]: {key} is for batches.\n  A stream writes files: path and format.")
    trigger = given.get("trigger")
    if trigger not in (None, "available now"):
        duration(trigger, "[stream]: trigger", ', or "available now"')
    if "idle" in given:
        duration(given["idle"], "[stream]: idle")
    flush, on_error = given.get("flush", False), given.get("on_error", "stop")
    return Streaming(given["checkpoint"], trigger, flush, on_error, given.get("idle"), _history(data))


def _history(data: dict[str, Any]) -> History | None:
    if "history" not in data:
        return None
    given = dict(data["history"])
    seam = given.pop("seam", None)
    if given.get("stream"):
        raise InputError("[history]: stream = true, but a history is a batch.\n  Describe the stream under [source].")
    if "sources" in data:
        raise InputError("[history] is for one [source], not for [sources].\n  Let the streams read it first.")
    if "schema" not in given and "schema" in data["source"]:
        given["schema"] = data["source"]["schema"]
    return History(_source(given, "[history]"), seam)


def _match(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `Pattern.match`; lengths of time are checked before Spark is started."""
    for name in ("watermark", "max_ahead"):
        if name in given:
            duration(given[name], f"[match]: {name}")
    return dict(given)


def _sink(name: str, given: dict[str, Any]) -> Sink:
    place = f"[sinks.{name}]"
    _check(given, _SINK, place)
    if given.get("format") not in ("console", "noop") and ("path" in given) == ("table" in given):
        raise InputError(
            f"{place} needs a path or a table, and not both.\n"
            f'  For example: path = "out/{name}"; or format = "console".'
        )
    mode = given.get("mode", "errorifexists")
    if mode not in ("append", "overwrite", "ignore", "error", "errorifexists"):
        raise InputError(f'{place}: mode = "{mode}" is not known.\n  Give "append", "overwrite", "ignore" or "error".')
    return Sink(
        given.get("format"),
        given.get("path"),
        given.get("table"),
        mode,
        _texts(given.get("options", {})),
        _listed(given.get("partition_by", ())),
    )


def _set(data: dict[str, Any], change: str) -> None:
    """Apply `a.b.c=value`; the value is read as TOML, or else taken as text."""
    key, sign, text = change.partition("=")
    names = key.strip().split(".")
    if not sign or not all(names):
        raise InputError(f"--set {change!r} is not key=value.\n  For example: --set sinks.matches.path=out/today.")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        value = text
    inner = data
    for name in names[:-1]:
        inner = inner.setdefault(name, {})
        if not isinstance(inner, dict):
            raise InputError(f"--set {change!r}: {name} is a value, not a section.")
    inner[names[-1]] = value


def _check(given: dict[str, Any], known: dict[str, Any], place: str) -> None:
    for name, value in given.items():
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are: {', '.join(known)}."
            raise InputError(f"{place} has an unknown key {name!r}.\n  {hint[0].upper()}{hint[1:]}")
        kinds = known[name] if isinstance(known[name], tuple) else (known[name],)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            words = {str: "a string", list: "a list", dict: "a section", int: "a whole number", bool: "true or false"}
            words[datetime] = "a date with a time"
            raise InputError(f"{place}: {name} = {value!r} is not {' or '.join(words[kind] for kind in kinds)}.")


def _listed(given: Any) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(str(item) for item in given)


def _texts(given: dict[str, Any]) -> dict[str, str]:
    """Options as Spark takes them: all are strings."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}


def _flat(given: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Spark's settings, which may be written with dots in their names or as nested tables."""
    flat: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat
