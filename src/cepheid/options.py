"""The arguments of a match, checked: what was given becomes frozen data, or an `InputError` that names the argument.

In: what a caller gave for `partition_by`, `order_by`, `measures`, limits and the like. Out: names, `Asked`, `Limits`,
`Movement`. Used by the face and by the command line; the rooms below get only what passed here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from inspect import signature
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict

from cepheid.errors import InputError, MalformedPatternError
from cepheid.syntax.durations import to_span, to_text

Rows: TypeAlias = Literal["one", "all"]
Nulls: TypeAlias = Literal["error", "drop"]
Shuffle: TypeAlias = Literal["packed", "spark"]
Time: TypeAlias = Literal["event", "arrival"]
Keys: TypeAlias = str | Iterable[str] | Mapping[str, str | Mapping[str, str]] | None
"""What `partition_by` takes: columns; or a dict with an SQL expression for each key, one for all elements or one for
each."""

LARGEST = 2**63 - 1
MOST_BUCKETS = 100_000
"""A bucket is a Spark task, and Spark plans tasks one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a match may hold before it stops with a `LimitError`. Nothing is ever dropped silently."""

    max_runs: int = 10_000_000
    """Runs in one partition at the same time."""
    max_matches_per_event: int = 1_000_000
    """Matches that one event completes."""
    max_state_bytes: int | None = None
    """Memory of the runs of one bucket, and of matches not handed over yet. None means an eighth of the memory that the
    process may have (of the machine, the container or the worker)."""
    max_steps: int = 20_000_000
    """Row patterns: how often the search for one match may backtrack, beyond what is linear."""
    max_bucket_bytes: int = 1 << 30
    """Spark batch: the size of a bucket in a worker's memory."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if name == "max_state_bytes" and self.max_state_bytes is None:
                continue
            object.__setattr__(self, name, count(getattr(self, name), name))


@dataclass(frozen=True, slots=True)
class Movement:
    """How the rows of a batch get to Spark's workers."""

    buckets: int | None = None
    shuffle: str = "packed"
    nulls: str = "error"
    max_bucket_bytes: int = 1 << 30

    def __post_init__(self) -> None:
        object.__setattr__(self, "buckets", bucket_count(self.buckets))
        one_of(
            self.shuffle,
            "shuffle",
            ("packed", "spark"),
            '"packed" is faster; "spark" is for buckets that are larger than a worker\'s memory.',
        )
        checked_nulls(self.nulls)
        count(self.max_bucket_bytes, "max_bucket_bytes")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a caller asks of the result."""

    measures: tuple[tuple[str, str], ...] = ()
    columns: tuple[str, ...] | None = None
    rows: str = "one"

    @classmethod
    def of(cls, measures: object, columns: object, rows: object) -> Asked:
        """What the arguments of these names ask."""
        one_of(
            rows,
            "rows",
            ("one", "all"),
            '"one": a row for each match; "all": a row for each event of a match.',
        )
        return cls(_measures(measures), None if columns is None else names(columns, "columns"), str(rows))


EVERYTHING = Asked()
"""A row for each match, with all columns of its events."""


class SingleLimits(TypedDict, total=False):
    """Limits given one by one, which override those of `limits=`."""

    max_runs: int
    max_matches_per_event: int
    max_state_bytes: int | None


class Further(SingleLimits, total=False):
    """The arguments of `Pattern.match` that apply to only one kind of DataFrame, and single limits."""

    buckets: int | None
    shuffle: Shuffle
    max_bucket_bytes: int
    watermark: str | None
    max_ahead: str
    time: Time
    id: str | None


LIMITS = Limits.__slots__


def limits_of(given: object, single: Mapping[str, Any] | None = None) -> Limits:
    """All limits: those of `limits=`, some of them replaced."""
    if given is None:
        given = Limits()
    if not isinstance(given, Limits):
        raise InputError(f"limits is {_shown(given)}.\n  Give cepheid.Limits(max_runs=…), or leave it out.")
    return replace(given, **single or {})


def names(given: object, argument: str) -> tuple[str, ...]:
    """Names of columns: one, or several in an order. None means none."""
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    remedy = f'Name columns by text: {argument}="a", or {argument}=["a", "b"].'
    if _is_column(given):
        raise InputError(f"{argument} is the Spark Column {given}.\n  {remedy} Compute others first: df.withColumn(…).")
    if isinstance(given, Mapping | set | frozenset | bytes) or hasattr(given, "columns") or not _is_iterable(given):
        raise InputError(f"{argument} is {_shown(given)}.\n  {remedy}")
    listed: tuple[Any, ...] = tuple(given)  # type: ignore[arg-type]
    for name in listed:
        if _is_column(name):
            raise InputError(f"{argument} has the Spark Column {name}.\n  {remedy}")
        if not isinstance(name, str):
            raise InputError(f"{argument} has {_shown(name)}, which is not the name of a column.\n  {remedy}")
    return listed


def count(given: object, argument: str) -> int:
    """A positive whole number."""
    if isinstance(given, bool) or not isinstance(given, Integral):
        raise InputError(f"{argument} is {_shown(given)}.\n  Leave it out, or give a whole number of 1 or more.")
    if int(given) < 1:
        raise InputError(f"{argument}={given} is not a positive number.\n  Leave it out, or give 1 or more.")
    if int(given) > LARGEST:
        raise InputError(f"{argument}={given} is more than a 64-bit number holds.\n  Give at most {LARGEST:,}.")
    return int(given)


def bucket_count(given: object) -> int | None:
    """The number of buckets that the caller gave, checked; None if none was given."""
    if given is None:
        return None
    number = count(given, "buckets")
    if number > MOST_BUCKETS:
        raise InputError(
            f"buckets={number:,} is more than {MOST_BUCKETS:,}.\n"
            "  Each bucket is a task: a few for each core are enough."
        )
    return number


def one_of(given: object, argument: str, known: tuple[str, ...], remedy: str) -> None:
    """Refuse a value that is not one of a few words."""
    if not isinstance(given, str) or given not in known:
        words = " nor ".join(f'"{word}"' for word in known)
        raise InputError(f"{argument}={_shown(given)} is neither {words}.\n  {remedy}")


def checked_nulls(given: object) -> None:
    one_of(given, "nulls", ("error", "drop"), "It says what happens to rows without a value in an order column.")


def yes_or_no(given: object, argument: str) -> bool:
    """A bool, and nothing that only looks like one."""
    if not isinstance(given, bool):
        raise InputError(f"{argument} is {_shown(given)}.\n  Give True or False.")
    return given


def path_of(given: object) -> Path:
    """Where something is written."""
    if not isinstance(given, str | os.PathLike) or not str(given):
        raise InputError(f"the path is {_shown(given)}.\n  Give the name of a file.")
    return Path(given)


def duration(given: object, argument: str, further: str = "") -> str:
    """A length of time as text, as Spark and we spell it."""
    try:
        if isinstance(given, str):
            return to_text(to_span(given, argument))
        problem = "it is not text"
    except MalformedPatternError as error:
        problem = error.problem
    raise InputError(
        f'{argument} = {_shown(given)} is not a length of time: {problem}.\n  For example: "10 seconds"{further}.'
    )


def identifier(given: object) -> str | None:
    """The `id` of a pattern on a stream."""
    if given is not None and (not isinstance(given, str) or not given.strip()):
        raise InputError(f'id is {_shown(given)}.\n  Give the pattern a name: id="v1".')
    return given


def known_arguments(given: Mapping[str, Any], method: Callable[..., Any], further: Iterable[str]) -> None:
    """Refuse an argument that the method has neither in its signature nor among the further ones."""
    allowed = set(further)
    for name in given:
        if name not in allowed:
            named = [one.name for one in signature(method).parameters.values() if one.kind is one.KEYWORD_ONLY]
            known = [*named, *sorted(allowed)]
            near = get_close_matches(name, known, 1)
            hint = f"Did you mean {near[0]}=?" if near else f"There are: {', '.join(known)}."
            raise InputError(f"{method.__name__}() has no argument {name!r}.\n  {hint}")


def _measures(given: object) -> tuple[tuple[str, str], ...]:
    if given is None:
        return ()
    example = 'Give a dict from name to SQL text: measures={"total": "SUM(b.amount)"}.'
    if not isinstance(given, Mapping):
        raise InputError(f"measures is {_shown(given)}.\n  {example}")
    for name, text in given.items():
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"measures has the name {_shown(name)}.\n  {example}")
        if not isinstance(text, str):
            what = "a Spark Column" if _is_column(text) else _shown(text)
            raise InputError(f"measures: {name!r} is {what}, not SQL text.\n  {example}")
    return tuple(given.items())


def _is_iterable(given: object) -> bool:
    return isinstance(given, Iterable)


def _is_column(given: object) -> bool:
    """Whether this is a Column of Spark, classic or Connect, which this room does not import."""
    return any(kind.__name__ == "Column" and kind.__module__.startswith("pyspark.") for kind in type(given).__mro__)


def _shown(given: object) -> str:
    """A value as an error shows it: short, and with its type if the type is what is wrong."""
    text = repr(given)
    text = text if len(text) <= 60 else f"{text[:60]}…"
    return text if isinstance(given, str | int | float) or given is None else f"{text} ({type(given).__name__})"
