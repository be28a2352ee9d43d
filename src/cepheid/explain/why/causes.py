"""The likely causes, the likeliest first.

In: a `Case`: the pattern, rows that were followed, what was counted and what the runs did. Out: `Reason`s.

Without a match, in this order: there are no rows; an element that every match needs is satisfied by no row, however the
rest is changed; even with everything loosened the elements' events never come in this order, or never share a key; one
change (`experiments`) would give matches, those that would give many, and that ended the runs which came furthest,
first; and else what ended those runs. With matches: too many of them, or some that the skip strategy dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from cepheid.conditions.self_defeating import self_defeating
from cepheid.explain.text.outline import skip_text
from cepheid.explain.why import experiments
from cepheid.explain.why.case import Case
from cepheid.explain.why.counting import count_rows
from cepheid.explain.why.experiments import Change, tried
from cepheid.explain.why.failures import failed_run, furthest, progress
from cepheid.explain.why.following import is_lost
from cepheid.explain.why.model import Kind, Reason, Role
from cepheid.explain.why.nearness import part_text
from cepheid.explain.why.suspicions import never_satisfied, other_spellings
from cepheid.explain.why.wording import told, would_match
from cepheid.reference.tracing import Fate
from cepheid.rows.arrange import Arranged, arrange
from cepheid.syntax.tree import PatternTree, SkipKind

_MANY = 20
"""Fewer matches than this are never too many."""
_KINDS = {
    Fate.TIME: Kind.WINDOW,
    Fate.NOT: Kind.NOT,
    Fate.STRICT: Kind.STRICT,
    Fate.CONDITION: Kind.CONDITION,
    Fate.UNTIL: Kind.UNTIL,
    Fate.GREEDY: Kind.GREEDY,
    Fate.WHOLE: Kind.WHOLE,
    Fate.HAVING: Kind.HAVING,
    Fate.NOT_BEFORE: Kind.NOT_BEFORE,
    Fate.ONCE_PER: Kind.ONCE_PER,
    Fate.FORBIDDEN: Kind.SKIP,
    Fate.WAITING: Kind.WAITING,
}
_ORDER = [
    Kind.STRICT,
    Kind.NOT,
    Kind.NOT_BEFORE,
    Kind.UNTIL,
    Kind.GREEDY,
    Kind.WHOLE,
    Kind.HAVING,
    Kind.CONDITION,
    Kind.WINDOW,
    Kind.LOOP,
]
"""Of changes that all would give matches, which is named first if nothing else decides."""


def reasons(case: Case) -> list[Reason]:
    """The likely causes, each kind and element once."""
    found: dict[tuple[Kind, str | None], Reason] = {}
    own = [Reason(Kind.OWN_RUN, sentence) for sentence in self_defeating(case.tree)]
    for reason in (*own, *(_with_matches(case) if case.matches else _without_matches(case))):
        found.setdefault((reason.kind, reason.element), reason)
    return list(found.values())[:5]


# ── there are matches ────────────────────────────────────────────────────────────────────────────────────────────────


def _with_matches(case: Case) -> Iterator[Reason]:
    for asked, counts in zip(case.asked, case.counts, strict=True):
        if asked.role is not Role.ELEMENT and not counts.fits:
            yield from other_spellings(asked, counts, case.near_values)
    fates = Counter(run.fate for one in case.followed for run in one.record.runs)
    if case.tree.skip.kind is SkipKind.NO_SKIP:
        yield from _too_many(case)
    else:
        free = tried(_unchanged(case, experiments.with_skip(case.tree, SkipKind.NO_SKIP)), case.sample).matches
        kept = sum(run.fate is Fate.MATCHED for one in case.followed for run in one.record.runs)
        if free > kept:
            dropped = f"{free - kept:,} complete match{'' if free - kept == 1 else 'es'}"
            text = f"The skip strategy ({skip_text(case.tree.skip)}) dropped {dropped} that overlap others."
            yield Reason(Kind.SKIP, text, "skip.no_skip keeps every match; skip.to_next one for each start.")
    if fates[Fate.ONCE_PER]:
        yield Reason(Kind.ONCE_PER, f"once_per dropped {fates[Fate.ONCE_PER]:,} complete matches.", "")
    for asked, counts in zip(case.asked, case.counts, strict=True):
        yield from other_spellings(asked, counts, case.near_values)


def _too_many(case: Case) -> Iterator[Reason]:
    """Every match counts, and there are several for the same events."""
    if case.matches < _MANY:
        return
    apart = tried(_unchanged(case, experiments.with_skip(case.tree, SkipKind.PAST_LAST_EVENT)), case.sample).matches
    found = sum(run.fate is Fate.MATCHED for one in case.followed for run in one.record.runs)
    if found >= 3 * max(apart, 1):
        text = (
            f"{case.matches:,} matches from {case.rows:,} rows: matches overlap, since no skip strategy drops any. "
            f"Of the rows followed, {found:,} matches become {apart:,} if each event counts once."
        )
        yield Reason(Kind.TOO_MANY, text, "Use .skip(skip.past_last_event), or greedy() or whole() on a loop.")


# ── there are none ───────────────────────────────────────────────────────────────────────────────────────────────────


def _without_matches(case: Case) -> Iterator[Reason]:
    if 10 * case.rejected > case.rows:
        yield _rejected(case)
    if not case.rows:
        if case.rejected:
            return
        yield Reason(Kind.NO_ROWS, "There are no rows.", "Look at what was read.")
        return
    never = [
        never_satisfied(asked, counts, case.rows, case.values)
        for asked, counts in zip(case.asked, case.counts, strict=True)
        if counts.is_required and not counts.fits
    ]
    yield from sorted(never, key=lambda reason: reason.kind is not Kind.CASE)
    if never:
        return
    loose = experiments.loosened(case.tree, case.conditions, case.sample)
    found = list(_one_change(case) if tried(loose, case.sample).matches else _never_in_order(case, loose))
    yield from found or _by_fate(case)
    if case.rejected:
        yield _rejected(case)
    for asked, counts in zip(case.asked, case.counts, strict=True):
        yield from other_spellings(asked, counts, case.near_values)


def _rejected(case: Case) -> Reason:
    order = ", ".join(case.sample.order_by)
    text = f"{case.rejected:,} of {case.rows + case.rejected:,} rows have no value in {order}, and were left out."
    return Reason(Kind.REJECTED, text, "Is order_by the time of all events, and is it read with the right format?")


def _never_in_order(case: Case, loose: Change) -> Iterator[Reason]:
    """Every element has events, but they never come one after the other under one key."""
    yield from _other_times(case, loose)
    needed = [counts.name for counts in case.counts if counts.is_required]
    names = ", ".join(needed)
    sample = case.sample
    if sample.partition_by:
        keys = ", ".join(sample.partition_by)
        sizes = np.diff(sample.bounds)
        if not _share_a_key(case) and tried(loose, _arranged(sample, (), sample.order_by)).matches:
            most = int(sizes.max()) if len(sizes) else 0
            text = (
                f"No value of the key ({keys}) has events for {names} in this order, but all rows together do. "
                f"There are {len(sizes):,} keys; the largest has {most:,} rows."
            )
            yield Reason(Kind.KEY, text, "Is partition_by what the events of a match share, written alike on all?")
            return
    if tried(loose, _reversed(sample)).matches:
        text = f"Events for {names} are there, but never in this order; the other way round they are."
        remedy = "Are the elements in the right order, and is order_by the time of the events?"
        if _has_ties(sample):
            text += " Some of them have the same time."
            remedy = "Name a further column in order_by that says which event of one moment comes first."
        yield Reason(Kind.ORDER, text, remedy)
        return
    text = f"Events for {names} are there, but never in this order."
    yield Reason(Kind.ORDER, text, "Are the elements in the right order, and can one event not serve two of them?")


def _share_a_key(case: Case) -> bool:
    """Whether some key has events for every element that is needed."""
    sample = case.sample
    has_all = np.ones(len(sample.bounds) - 1, bool)
    for asked, counts in zip(case.asked, case.counts, strict=True):
        if counts.is_required:
            _, fits = count_rows(asked, sample.table)
            has_all &= np.add.reduceat(fits.astype(np.int64), sample.bounds[:-1]) > 0
    return bool(has_all.any())


def _has_ties(events: Arranged) -> bool:
    """Whether two events of a key have one time, and no further column says which is first."""
    same = np.diff(events.time) == 0
    same[events.bounds[1:-1] - 1] = False
    return len(events.order_by) == 1 and bool(same.any())


def _other_times(case: Case, loose: Change) -> Iterator[Reason]:
    """Another column holds times by which the events come in the order of the pattern."""
    sample = case.sample
    for name in sample.column_names:
        kind = sample.type_of(name)
        is_time = pa.types.is_timestamp(kind) or pa.types.is_date(kind) or _is_called_a_time(name, kind)
        if name in (*sample.partition_by, *sample.order_by) or not is_time or sample.column(name).null_count:
            continue
        if tried(loose, _arranged(sample, sample.partition_by, (name,))).matches:
            by = f"ordered by {', '.join(sample.order_by)}" if sample.order_by else "taken in the order given"
            text = (
                f"The rows are {by}, and so the times in {name!r} are out of order; ordered by {name!r}, events come "
                "in the order of the pattern."
            )
            yield Reason(Kind.TIME_ORDER, text, f'Give order_by="{name}".')
            return


def _one_change(case: Case) -> Iterator[Reason]:
    """What single change would give matches."""
    weights = _weights(case)
    found = [tried(change, case.sample) for change in experiments.changes(case.tree, case.conditions, case.sample)]
    works = [one for one in found if one.matches]
    telling = [one for one in works if one.change.kind is not Kind.PART]
    most = max((one.matches for one in telling), default=0)
    telling.sort(
        key=lambda one: (one.matches * 4 < most, -weights[one.change.kind], _ORDER.index(one.change.kind), -one.matches)
    )
    for experiment in telling:
        yield told(case, experiment)
    if not telling:
        yield from _other_times(case, _unchanged(case, case.tree))
        for experiment in sorted(works, key=lambda one: one.matches):
            part = experiment.change.part
            assert part is not None
            text = (
                f"Without {part_text(part)} in {experiment.change.element!r} there would be {would_match(experiment)}."
            )
            yield Reason(Kind.PART, text, "", experiment.change.element)


def _weights(case: Case) -> Counter[Kind]:
    """How many of the runs that came furthest ended by each kind of cause."""
    lost = [run for one in case.followed for run in one.record.runs if is_lost(run)]
    far = max((progress(run)[0] for run in lost), default=0)
    return Counter(_KINDS[run.fate] for run in lost if progress(run)[0] == far and run.fate in _KINDS)


def _by_fate(case: Case) -> Iterator[Reason]:
    """What ended the runs that came furthest, where nothing better is known."""
    for one, run in furthest(case.followed):
        if run.fate in _KINDS:
            told = failed_run(one.record, run, {}, case.names, with_near=False)
            taken = ", ".join(dict.fromkeys(step.element for step in told.taken))
            yield Reason(
                _KINDS[run.fate], f"The run that came furthest took {taken}; {told.words}.", "", _element(told.awaited)
            )


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _unchanged(case: Case, tree: PatternTree) -> Change:
    return Change(Kind.SKIP, None, tree, case.conditions)


def _element(awaited: tuple[str, ...]) -> str | None:
    return awaited[0] if awaited else None


def _arranged(events: Arranged, keys: tuple[str, ...], order: tuple[str, ...]) -> Arranged:
    return arrange(events.table, keys, order)


def _reversed(events: Arranged) -> Arranged:
    """The rows of each partition the other way round."""
    name = "reversed"
    while name in events.column_names:
        name += "_"
    table = events.table.append_column(name, pa.array(-np.arange(len(events.time))))
    return arrange(table, events.partition_by, (name,))


def _is_called_a_time(name: str, kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) and name.lower() in (
        "t",
        "ts",
        "time",
        "timestamp",
        "date",
        "datetime",
        "at",
        "when",
    )
