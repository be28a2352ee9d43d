"""A timeline as a page: HTML with inline SVG, nothing from the network, legible at any width.

In: `Panel`s. Out: HTML. Places are percentages of the width and letters are pixels, so a narrow page moves events
closer together and leaves the words as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from cepheid.explain.diagram.lettering import sans_width
from cepheid.explain.diagram.palette import MONO, SANS, VARIABLES_DARK, VARIABLES_LIGHT, in_both, scoped
from cepheid.explain.timeline.axis import duration, moment, ticks
from cepheid.explain.timeline.panels import Guarded, Mark, Panel, Track

_SCOPE = ".cepheid-timeline"
NARROWEST = 300.0
"""The width of a track that labels must fit, in pixels."""
_INSET = 2.0
"""Room at both ends of a track, in percent."""

_RULES = (
    "{background:$background$;color:$ink$}"
    ".pattern,.axis text,.label small,.note,.left-out{color:$muted$;fill:$muted$}"
    ".panel{border-top:1px solid $faint$}"
    ".rail{stroke:$faint$}.event circle{fill:$background$;stroke:$edge$}.axis line{stroke:$edge$}"
    ".band{fill:$band$;background:$band$}.dashes{color:$not$}"
    ".join{stroke:$edge$}.edge{stroke:$accent$}.window text{fill:$accent$}"
    ".cross path,.guard{stroke:$not$}.cross text,.guarded text,.swatch.no{fill:$not$;color:$not$}"
    ".mark circle{stroke:$background$}svg text{fill:$ink$}"
    ".failed .mark circle{fill:$edge$}.failed .mark text,.failed .label{fill:$muted$;color:$muted$}"
    ".failed .band{fill:$card$}.failed .edge{stroke:$edge$}.failed .end path{stroke:$muted$}.words{color:$muted$}"
)
_PLAIN = (
    f"{{font-family:{SANS};font-size:14px;line-height:1.4;padding:16px;border-radius:8px;max-width:1100px;"
    "box-sizing:border-box}"
    "h1{font-size:18px;margin:0 0 4px}h2{font-size:14px;margin:10px 0 2px}"
    f".pattern{{font-family:{MONO};font-size:12px;overflow-wrap:anywhere;margin:0 0 8px}}"
    ".drawing{overflow-x:auto;margin:8px 0}"
    ".legend{display:flex;flex-wrap:wrap;gap:4px 16px;margin:8px 0}.swatch{font-weight:600}"
    ".sample{border-radius:3px;display:inline-block;width:22px}"
    ".panel{padding:4px 0 10px}.lane{display:grid;grid-template-columns:96px 1fr;align-items:center}"
    ".label{font-size:12px;line-height:1.2}.label small{display:block}"
    "svg.track{display:block;width:100%;overflow:visible}"
    "svg text{font-size:11px}.rail{stroke-width:1.5}.event circle{stroke-width:1.5}"
    ".join{stroke-width:2.5}.guard{stroke-width:2;stroke-dasharray:3 4}.edge{stroke-width:1.5;stroke-dasharray:4 3}"
    ".cross path{stroke-width:2.2;fill:none}.mark circle{stroke-width:1.5}.note,.left-out{font-size:12px}"
    ".failed .join{stroke-dasharray:1 4}.end path{stroke-width:2;fill:none}"
    ".words{font-size:12px;line-height:1.3;margin:0 0 8px;grid-column:2;overflow-wrap:anywhere}"
)
_NARROW = (
    "@media (max-width:560px){.cepheid-timeline .lane{grid-template-columns:1fr}"
    ".cepheid-timeline .label small{display:inline;margin-left:6px}.cepheid-timeline .words{grid-column:1}}"
)


def fragment(
    shown: Sequence[Panel],
    names: Sequence[str],
    nots: Sequence[str],
    is_time: bool,
    pattern: str,
    drawing: str,
    title: str,
) -> str:
    """The timeline as a part of a page, style sheet included."""
    colours = {name: f"v{number % len(VARIABLES_LIGHT)}" for number, name in enumerate(names)}
    parts = [f'<div class="cepheid-timeline"><style>{_style()}</style><h1>{escape(title)}</h1>']
    if pattern:
        parts.append(f'<p class="pattern">{escape(pattern)}</p>')
    if drawing:
        parts.append(f'<div class="drawing">{drawing}</div>')
    parts.append('<div class="legend">')
    parts += [f'<span class="swatch {colours[name]}">● {escape(name)}</span>' for name in names]
    parts += [f'<span class="swatch no">✕ {escape(name)}</span>' for name in nots]
    parts.append('<span class="note">○ every event</span>')
    if any(track.words for panel in shown for track in panel.tracks):
        parts.append('<span class="note">grey: runs that failed, ✕ where they ended</span>')
    if any(track.window_end is not None for panel in shown for track in panel.tracks):
        parts.append('<span class="note"><span class="sample band">&emsp;</span> the window</span>')
    if any(track.guarded for panel in shown for track in panel.tracks):
        parts.append('<span class="note"><span class="dashes">┅</span> none of these may happen</span>')
    parts.append("</div>")
    for panel in shown:
        parts += _panel(panel, colours, is_time)
    if not shown:
        parts.append('<p class="note">No matches.</p>')
    parts.append("</div>")
    return "".join(parts)


def page(body: str, title: str) -> str:
    """A fragment as a page of its own."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title>'
        "<style>body{margin:0}@media (min-width:600px){body{margin:12px}}</style></head>"
        f"<body>{body}</body></html>\n"
    )


def _style() -> str:
    light = "".join(f".v{number}{{fill:{colour};color:{colour}}}" for number, colour in enumerate(VARIABLES_LIGHT))
    dark = "".join(f".v{number}{{fill:{colour};color:{colour}}}" for number, colour in enumerate(VARIABLES_DARK))
    variables = f"{scoped(light, _SCOPE)}@media (prefers-color-scheme:dark){{{scoped(dark, _SCOPE)}}}"
    return scoped(_PLAIN, _SCOPE) + in_both(_RULES, _SCOPE) + variables + _NARROW


def _panel(panel: Panel, colours: dict[str, str], is_time: bool) -> Iterator[str]:
    yield f'<section class="panel"><h2>{escape(panel.title)}</h2>'
    day = moment(panel.start, is_time).split(" ")[0] if is_time else ""
    left_out = f"{panel.events_left_out:,} more not shown" if panel.events_left_out else day
    yield _lane("events", left_out, 40, _events(panel, is_time))
    for track in panel.tracks:
        drawn = _track(panel, track, colours, is_time)
        yield _lane(track.title, duration(track.end - track.start, is_time), 46, drawn, track.words)
    if all(track.words for track in panel.tracks):
        yield '<p class="note">no match</p>'
    yield _lane("", "", 20, _axis(panel, is_time))
    if panel.tracks_left_out:
        yield f'<p class="left-out">and {panel.tracks_left_out:,} more matches</p>'
    yield "</section>"


def _lane(title: str, below: str, height: int, drawn: Iterator[str], words: str = "") -> str:
    small = f"<small>{escape(below)}</small>" if below else ""
    said = f'<p class="words">{escape(words)}</p>' if words else ""
    return (
        f'<div class="lane{" failed" if words else ""}"><div class="label">{escape(title)}{small}</div>'
        f'<svg class="track" height="{height}">{"".join(drawn)}</svg>{said}</div>'
    )


def _events(panel: Panel, is_time: bool) -> Iterator[str]:
    yield '<line class="rail" x1="0" x2="100%" y1="26" y2="26"/>'
    labels = _Labels()
    # Crosses last, so that no other event of that time hides them.
    for mark in sorted(panel.events, key=lambda mark: bool(mark.nots)):
        at = _place(mark.time, panel)
        tip = f"<title>{escape(_tip(mark, is_time))}</title>"
        if mark.nots:
            name = ", ".join(mark.nots)
            label = labels.at(at, name)
            yield (
                f'<svg class="cross" x="{at:.2f}%" y="26" overflow="visible">{tip}'
                f'<path d="M-5 -5L5 5M-5 5L5 -5"/><circle r="9" fill-opacity="0"/>{label}</svg>'
            )
        else:
            yield f'<svg class="event" x="{at:.2f}%" y="26" overflow="visible">{tip}<circle r="4"/></svg>'


def _track(panel: Panel, track: Track, colours: dict[str, str], is_time: bool) -> Iterator[str]:
    y = 24
    first, last = _place(track.start, panel), _place(track.end, panel)
    if track.window_end is not None:
        is_inside = track.window_end <= panel.end
        end = _place(track.window_end, panel) if is_inside else 100.0
        yield f'<rect class="band" x="{first:.2f}%" width="{end - first:.2f}%" y="12" height="24" rx="4"/>'
        text = f"window ends {moment(track.window_end, is_time)}"
        if is_inside:
            yield f'<line class="edge" x1="{end:.2f}%" x2="{end:.2f}%" y1="10" y2="38"><title>{text}</title></line>'
        elif 100.0 - last > 100.0 * sans_width(text, 11.0) / NARROWEST:
            text = f'<text x="-6" text-anchor="end">{text} ▸</text>'
            yield f'<svg class="window" x="100%" y="{y + 4}" overflow="visible">{text}</svg>'
    if last > first:
        yield f'<line class="join" x1="{first:.2f}%" x2="{last:.2f}%" y1="{y}" y2="{y}"/>'
    for guarded in _merged(track.guarded):
        yield from _guard(panel, guarded)
    if track.ended_at is not None and track.ended_at <= panel.end:
        tip = f"<title>{escape(track.words)}</title>"
        cross = '<path d="M-5 -5L5 5M-5 5L5 -5"/><circle r="9" fill-opacity="0"/>'
        at = _place(track.ended_at, panel)
        yield f'<line class="join" x1="{last:.2f}%" x2="{at:.2f}%" y1="{y}" y2="{y}"/>'
        yield f'<svg class="end" x="{at:.2f}%" y="{y}" overflow="visible">{tip}{cross}</svg>'
    labels = _Labels()
    for mark in track.marks:
        at = _place(mark.time, panel)
        name = mark.variable or ""
        yield (
            f'<svg class="mark" x="{at:.2f}%" y="{y}" overflow="visible"><title>{escape(_tip(mark, is_time))}</title>'
            f'<circle class="{colours.get(name, "")}" r="6.5"/>{labels.at(at, name)}</svg>'
        )


def _merged(guarded: Sequence[Guarded]) -> list[Guarded]:
    """Stretches that guard against several things, with all their names."""
    names: dict[tuple[float, float], list[str]] = {}
    for stretch in guarded:
        names.setdefault((stretch.start, stretch.end), []).append(stretch.name)
    return [Guarded(start, end, " or ".join(dict.fromkeys(listed))) for (start, end), listed in names.items()]


def _guard(panel: Panel, guarded: Guarded) -> Iterator[str]:
    """A line below the match in which nothing of a name may happen, with its label where there is room."""
    start, end = (min(max(_place(at, panel), 0.0), 100.0) for at in (guarded.start, guarded.end))
    text = f"no {guarded.name}"
    yield f'<line class="guard" x1="{start:.2f}%" x2="{end:.2f}%" y1="34" y2="34"><title>{escape(text)}</title></line>'
    if end - start > 100.0 * sans_width(text, 11.0) / NARROWEST:
        yield (
            f'<svg class="guarded" x="{(start + end) / 2:.2f}%" y="45" overflow="visible">'
            f'<text text-anchor="middle">{escape(text)}</text></svg>'
        )


def _axis(panel: Panel, is_time: bool) -> Iterator[str]:
    yield '<g class="axis"><line x1="0" x2="100%" y1="1" y2="1"/>'
    for number, label in ticks(panel.start, panel.end, is_time):
        at = _place(number, panel)
        half = 50.0 * sans_width(label, 11.0) / NARROWEST
        anchor = "start" if at < half else "end" if at > 100 - half else "middle"
        yield (
            f'<line x1="{at:.2f}%" x2="{at:.2f}%" y1="1" y2="6"/>'
            f'<text x="{at:.2f}%" y="18" text-anchor="{anchor}">{escape(label)}</text>'
        )
    yield "</g>"


class _Labels:
    """Words above marks, left out where they would run into the one before; the tip of the mark still says them."""

    def __init__(self) -> None:
        self.free_from = 0.0

    def at(self, place: float, text: str) -> str:
        half = 50.0 * sans_width(text, 11.0) / NARROWEST
        start, anchor, shift = place - half, "middle", 0
        if start < 0:
            start, anchor, shift = place - 2.0, "start", -6
        elif place + half > 100:
            start, anchor, shift = place - 2 * half, "end", 6
        if start < self.free_from:
            return ""
        self.free_from = start + 2 * half + 1.0
        return f'<text x="{shift}" y="-11" text-anchor="{anchor}">{escape(text)}</text>'


def _place(time: float, panel: Panel) -> float:
    """A time as a percentage of the width."""
    length = panel.end - panel.start
    return 50.0 if length <= 0 else _INSET + (100.0 - 2 * _INSET) * (time - panel.start) / length


def _tip(mark: Mark, is_time: bool) -> str:
    """What a mark says when it is pointed at."""
    head = [mark.variable] if mark.variable else [f"would violate not {name}" for name in mark.nots]
    return "\n".join([*head, moment(mark.time, is_time), *(f"{name} = {value}" for name, value in mark.event.items())])
