"""`Why`: the answer as an object that prints itself, shows itself in a notebook, and holds its data.

In: an `Account`. Out: text and HTML.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from cepheid.explain.results import shown, to_html, to_text
from cepheid.explain.why.model import Account, ElementCount, Extent, FailedRun, NearEvent, Reason, Role
from cepheid.reference.tracing import EventClass, Fate

_STYLE = (
    ".cepheid-why{line-height:1.45}.cepheid-why p{margin:4px 0}.cepheid-why ol,.cepheid-why ul{margin:4px 0 4px 20px;"
    "padding:0}.cepheid-why h4{margin:12px 0 4px}.cepheid-why .first{font-weight:600}"
    ".cepheid-why code{background:rgba(128,128,128,.15);padding:0 3px;border-radius:3px}"
    ".cepheid-why small{opacity:.75}"
)
COLUMNS = ("element", "rows that fit", "runs that waited", "runs that took", "ended there")


class Why:
    """Why a pattern matched what it did, and not more. Print it, or look at it in a notebook; it holds its data."""

    def __init__(self, account: Account) -> None:
        self.account = account
        """Everything, as plain data."""

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Likely causes, the likeliest first."""
        return self.account.reasons

    @property
    def matches(self) -> int:
        """How many matches there are."""
        return self.account.matches

    @property
    def extent(self) -> Extent:
        """How many rows and keys there are, and how many were followed run by run."""
        return self.account.extent

    @property
    def elements(self) -> tuple[ElementCount, ...]:
        """Each element, not and until with its counts."""
        return self.account.elements

    @property
    def runs(self) -> Mapping[Fate, int]:
        """The runs that were followed by what became of them; each is in one class."""
        return self.account.fates

    @property
    def events(self) -> Mapping[EventClass, int]:
        """The rows that were followed, and those that were rejected, by what became of them; each is in one class."""
        return self.account.classes

    @property
    def furthest(self) -> tuple[FailedRun, ...]:
        """The runs that came furthest and became no match."""
        return self.account.furthest

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        first = f", {self.reasons[0].kind.value}" if self.reasons else ""
        return f"Why({self.matches} matches{first})"

    def _repr_html_(self) -> str:
        return f'<div class="cepheid-why"><style>{_STYLE}</style>{"".join(self._html())}</div>'

    def _lines(self) -> Iterator[str]:
        yield self._head()
        if self.reasons:
            yield ""
            yield "Likely cause" if len(self.reasons) == 1 else "Likely causes, the likeliest first"
            for number, reason in enumerate(self.reasons, 1):
                yield f"  {number}. {reason}"
        yield ""
        yield "Elements"
        yield from _indented(to_text(COLUMNS, table_rows(self.account), whole=True))
        for element in self.elements:
            if len(element.parts) > 1:
                yield f"  {element.name}: " + ", ".join(_part_counts(element))
        yield ""
        yield f"Runs followed: {self.account.runs:,}{_listed(self.account.fates)}"
        yield f"Rows followed: {sum(self.events.values()):,}{_listed(self.account.classes)}"
        if self.furthest:
            yield ""
            yield "The runs that came furthest" if len(self.furthest) > 1 else "The run that came furthest"
            for run in self.furthest:
                yield from _run_lines(run)

    def _head(self) -> str:
        return f"{head(self.account)}\n{self.account.pattern}"

    def _html(self) -> Iterator[str]:
        yield f"<p><b>{escape(head(self.account))}</b></p><p><code>{escape(self.account.pattern)}</code></p>"
        if self.reasons:
            items = "".join(
                f'<li class="{"first" if place == 0 else "other"}">{escape(str(reason))}</li>'
                for place, reason in enumerate(self.reasons)
            )
            yield f"<h4>Likely cause{'' if len(self.reasons) == 1 else 's'}</h4><ol>{items}</ol>"
        yield to_html(COLUMNS, table_rows(self.account), "Elements")
        yield f"<p><small>Runs followed: {self.account.runs:,}{escape(_listed(self.account.fates))}<br>"
        yield f"Rows followed: {sum(self.events.values()):,}{escape(_listed(self.account.classes))}</small></p>"
        if self.furthest:
            yield f"<h4>The run{'s' if len(self.furthest) > 1 else ''} that came furthest</h4>"
            for run in self.furthest:
                lines = [line.strip() for line in _run_lines(run)]
                near = "".join(f"<li>{escape(line)}</li>" for line in lines[1:])
                yield f"<p>{escape(lines[0])}</p><ul>{near}</ul>"


def head(account: Account) -> str:
    """`0 matches in 1,200 rows of 30 keys`, and how much was followed if not all."""
    extent = account.extent
    keys = f" of {extent.keys:,} key{'' if extent.keys == 1 else 's'}" if extent.keys > 1 else ""
    if account.key is not None:
        keys = " with " + ", ".join(f"{name} = {value!r}" for name, value in account.key.items())
    matches = f"{account.matches:,} match{'' if account.matches == 1 else 'es'}"
    rows = f"{extent.events:,} row{'' if extent.events == 1 else 's'}{keys}"
    if extent.rejected:
        rows += f" ({extent.rejected:,} more without a time)"
    if extent.is_whole:
        return f"{matches} in {rows}"
    some = f"{extent.followed_events:,} rows of {extent.followed_keys:,} key{'' if extent.followed_keys == 1 else 's'}"
    if account.is_all_matched:
        return f"{matches} in {rows} (conditions are counted over all of them; runs were followed in {some})"
    return f"{matches} in {some} that were followed (conditions are counted over {rows})"


def table_rows(account: Account) -> list[dict[str, str]]:
    """The elements as rows of `COLUMNS`."""
    rows = []
    for one in account.elements:
        is_element = one.role is Role.ELEMENT
        name = one.name if is_element else f"{one.role.value} {one.name}"
        ended = ", ".join(f"{fate.value} {count:,}" for fate, count in one.ended.items())
        cells = (
            name,
            f"{one.fits:,}",
            f"{one.waited:,}" if is_element else "",
            f"{one.took:,}" if is_element else "",
            ended,
        )
        rows.append(dict(zip(COLUMNS, cells, strict=True)))
    return rows


def _part_counts(element: ElementCount) -> Iterator[str]:
    for part in element.parts:
        unknown = f" (unknown on {part.unknown:,})" if part.unknown else ""
        yield f"{part.text} " + ("reads earlier events" if part.satisfied is None else f"{part.satisfied:,}{unknown}")


def _listed(counts: Mapping[Any, int]) -> str:
    return f" ({', '.join(f'{kind.value} {count:,}' for kind, count in counts.items())})" if counts else ""


def _run_lines(run: FailedRun) -> Iterator[str]:
    key = ", ".join(f"{name} {shown(value)}" for name, value in run.key.items())
    taken = "; ".join(f"{step.element} took {event_text(step.event, run.key)}" for step in run.taken[:4])
    more = f"; {len(run.taken) - 4} more" if len(run.taken) > 4 else ""
    yield f"  {f'{key}: ' if key else ''}{taken}{more}"
    event = f" ({event_text(run.event, run.key)})" if run.event is not None else ""
    yield f"    {run.words}{event}"
    for near in run.near:
        yield f"    near: {near_text(near, run.key)}"


def near_text(near: NearEvent, key: Mapping[str, Any]) -> str:
    """An event that came near, and what was false."""
    false = ", ".join(map(str, near.false)) or near.remark or "fits"
    return f"{event_text(near.event, key)} for {near.element}: {false}"


def event_text(event: Mapping[str, Any], key: Mapping[str, Any]) -> str:
    """The values of an event without those of its key and of columns that are Cepheid's own."""
    values = [(name, value) for name, value in event.items() if name not in key and not name.startswith("__")]
    text = ", ".join(f"{name} {shown(value)}" for name, value in values)
    return text if len(text) <= 100 else f"{text[:99]}…"


def _indented(text: str) -> Iterator[str]:
    return (f"  {line}" for line in text.splitlines())
