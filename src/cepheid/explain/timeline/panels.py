"""Matches and events put in order for drawing: a panel for each partition, a track for each match.

In: plain rows, and the pattern if it is known. Out: `Panel`s with times as numbers, which `timeline_page` draws. It
says which not guarded which stretch of a match, and which events would have violated one (rule 7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from cepheid.explain.timeline.plain_rows import PlainRow, as_number
from cepheid.syntax.positions import nots_at_the_end
from cepheid.syntax.tree import Not, Path, PatternTree, Span, variables, walk

OWN_COLUMNS = ("match_id", "start_time", "end_time", "at")
MOST_EVENTS, MOST_TRACKS = 400, 12
"""More than this in one panel is not drawn; the panel says how many were left out."""


@dataclass(frozen=True, slots=True)
class Mark:
    """An event at its time; `variable` took it, or it satisfies the condition of `nots`."""

    time: float
    event: PlainRow
    variable: str | None = None
    nots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Guarded:
    """A stretch in which nothing of this name may happen."""

    start: float
    end: float
    name: str


@dataclass(frozen=True, slots=True)
class Track:
    """One match, or a run that failed: then `words` say what ended it, and `ended_at` when."""

    title: str
    marks: tuple[Mark, ...]
    start: float
    end: float
    window_end: float | None
    guarded: tuple[Guarded, ...]
    words: str = ""
    ended_at: float | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that became no match: its key, what it took, and what ended it."""

    key: tuple[Any, ...]
    taken: tuple[tuple[str, PlainRow], ...]
    words: str
    at: float | None


@dataclass(frozen=True, slots=True)
class Panel:
    """One partition."""

    title: str
    events: tuple[Mark, ...]
    tracks: tuple[Track, ...]
    events_left_out: int
    tracks_left_out: int
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read the rows: which columns are keys, variables and the order; what the pattern says."""

    keys: tuple[str, ...]
    names: tuple[str, ...]
    order: tuple[str, ...]
    tree: PatternTree | None
    nots_of: Callable[[PlainRow], tuple[str, ...]]
    """The names of the negations whose condition an event satisfies."""
    failures: tuple[Failure, ...] = ()


def columns_of(matches: Sequence[PlainRow], tree: PatternTree | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The key columns and the variables of a table of matches, from its columns alone."""
    columns = list(dict.fromkeys(name for row in matches for name in row))
    keys = columns[: columns.index("match_id")] if "match_id" in columns else []
    known = [variable.name for _, _, variable in variables(tree.body)] if tree else columns
    names = [name for name in known if any(_is_taken(row.get(name)) for row in matches) and name not in keys]
    return tuple(keys), tuple(name for name in names if name not in OWN_COLUMNS)


def time_column(matches: Sequence[PlainRow], names: Sequence[str]) -> tuple[str, ...]:
    """The column of the events that tells their time: the one whose first value is the match's start."""
    for row in matches:
        events = [event for name in names for event in taken_by(row, name)]
        for column in events[0] if events else ():
            values = [event.get(column) for event in events]
            if row.get("start_time") is not None and row["start_time"] in values and row.get("end_time") in values:
                return (column,)
    return ()


def taken_by(row: PlainRow, name: str) -> list[PlainRow]:
    """The events that a variable took in a match."""
    value = row.get(name)
    if isinstance(value, dict):
        return [value]
    return [event for event in value if isinstance(event, dict)] if isinstance(value, list) else []


def panels(matches: Sequence[PlainRow], events: Sequence[PlainRow], reading: Reading, most: int) -> list[Panel]:
    """A panel for each partition: those with matches first, then others as long as there are fewer than `most`."""
    found: dict[tuple[Any, ...], list[PlainRow]] = {}
    for row in matches:
        found.setdefault(_key(row, reading), []).append(row)
    happened: dict[tuple[Any, ...], list[PlainRow]] = {key: [] for key in found}
    for event in events:
        happened.setdefault(_key(event, reading), []).append(event)
    failed = [failure.key for failure in reading.failures]
    chosen = list(dict.fromkeys([*found, *failed, *happened]))[:most]
    return [_panel(key, found.get(key, []), happened.get(key, []), reading) for key in chosen]


def _panel(key: tuple[Any, ...], matches: list[PlainRow], events: list[PlainRow], reading: Reading) -> Panel:
    tracks = [_track(number, row, reading) for number, row in enumerate(matches[:MOST_TRACKS], 1)]
    failures = [failure for failure in reading.failures if failure.key == key and failure.taken]
    tracks += [_failed(number, failure, reading) for number, failure in enumerate(failures, 1)]
    marks = [
        Mark(moment, event, None, reading.nots_of(event))
        for event in events
        if (moment := _moment(event, reading)) is not None
    ]
    marks.sort(key=lambda mark: mark.time)
    if not events:
        unique = {id(mark.event): Mark(mark.time, mark.event) for track in tracks for mark in track.marks}
        marks = sorted(unique.values(), key=lambda mark: mark.time)
    shown = _nearest(marks, tracks)
    times = [mark.time for mark in shown] + [moment for track in tracks for moment in (track.start, track.end)]
    start, end = min(times, default=0.0), max(times, default=1.0)
    ends = [track.window_end for track in tracks if track.window_end is not None]
    ends += [guarded.end for track in tracks for guarded in track.guarded]
    ends += [track.ended_at for track in tracks if track.ended_at is not None]
    reach = start + 1.6 * (end - start)
    end = max([end, *(moment for moment in ends if moment <= reach)])
    title = ", ".join(f"{name} = {value}" for name, value in zip(reading.keys, key, strict=True)) or "all events"
    return Panel(
        title,
        tuple(shown),
        tuple(tracks),
        len(marks) - len(shown),
        max(0, len(matches) - MOST_TRACKS),
        start,
        max(end, start),
    )


def _nearest(marks: list[Mark], tracks: list[Track]) -> list[Mark]:
    """Not too many events: those between the first match's start and the last one's end before others."""
    if len(marks) <= MOST_EVENTS:
        return marks
    if tracks:
        start, end = min(track.start for track in tracks), max(track.end for track in tracks)
        margin = (end - start) * 0.3
        marks = [mark for mark in marks if start - margin <= mark.time <= end + margin]
    return marks[:MOST_EVENTS]


def _track(number: int, row: PlainRow, reading: Reading) -> Track:
    places = {name: place for place, name in enumerate(reading.names)}
    marks = [
        Mark(moment, event, name)
        for name in reading.names
        for event in taken_by(row, name)
        if (moment := _moment(event, reading)) is not None
    ]
    marks.sort(key=lambda mark: (*_order(mark, reading), places[mark.variable or ""]))
    given = [as_number(row.get(column)) for column in ("start_time", "end_time")]
    start = given[0] if given[0] is not None else marks[0].time if marks else 0.0
    end = given[1] if given[1] is not None else marks[-1].time if marks else start
    window = reading.tree.window if reading.tree else None
    window_end = start + window.length if isinstance(window, Span) else None
    guarded = () if reading.tree is None else tuple(_guarded(reading.tree, marks, start, window_end))
    return Track(f"match {number}", tuple(marks), start, end, window_end, guarded)


def _failed(number: int, failure: Failure, reading: Reading) -> Track:
    marks = tuple(
        Mark(moment, event, name) for name, event in failure.taken if (moment := _moment(event, reading)) is not None
    )
    start, end = (marks[0].time, marks[-1].time) if marks else (0.0, 0.0)
    window = reading.tree.window if reading.tree else None
    window_end = start + window.length if isinstance(window, Span) else None
    return Track(f"failed run {number}", marks, start, end, window_end, (), failure.words, failure.at)


def _guarded(tree: PatternTree, marks: list[Mark], start: float, window_end: float | None) -> list[Guarded]:
    """What must not happen between one taken event and the next, and after the last."""
    paths: dict[str, Path] = {variable.name: path for path, _, variable in variables(tree.body)}
    nots = [(path, element) for path, element in walk(tree.body) if isinstance(element, Not)]
    stretches: list[Guarded] = []
    for one, other in pairwise(marks):
        before, behind = paths[one.variable or ""], paths[other.variable or ""]
        for path, element in nots:
            # rule 7: a negation directly after a loop is in force between the loop's own events as well
            is_between_repetitions = before == behind and path[:-1] == before[:-1] and path[-1] == before[-1] + 1
            if before < path < behind or is_between_repetitions:
                stretches.append(Guarded(one.time, other.time, element.name))
    if marks:
        last = marks[-1].time
        for _, element in nots_at_the_end(tree.body):
            ends = [] if element.within_previous is None else [last + element.within_previous.length]
            ends += [] if window_end is None else [window_end]
            if ends:
                stretches.append(Guarded(last, min(ends), element.name))
    if tree.not_before and isinstance(tree.window, Span) and marks:
        reach = marks[-1].time - tree.window.length
        stretches += [Guarded(min(reach, start), start, before.name) for before in tree.not_before]
    return stretches


def _moment(event: PlainRow, reading: Reading) -> float | None:
    return as_number(event.get(reading.order[0])) if reading.order else None


def _order(mark: Mark, reading: Reading) -> tuple[Any, ...]:
    values = [mark.event.get(column) for column in reading.order[1:]]
    return (mark.time, *(str(type(value)) + str(value) if value is None else value for value in values))


def _key(row: PlainRow, reading: Reading) -> tuple[Any, ...]:
    return tuple(row.get(name) for name in reading.keys)


def _is_taken(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value))
