"""An explanation as data, and as it is shown: text, a terminal with colours, a notebook.

In: sections, made by `explaining`. Out: an `Explanation`, which prints itself (`str`) and shows itself in a notebook
(`_repr_html_`). The command line has colours of its own; all show the same sections.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True)
class Record:
    """Something with a name and facts about it, as (what, how) pairs."""

    name: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of an explanation: sentences, then lines whose indentation counts, then records."""

    title: str
    sentences: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    records: tuple[Record, ...] = ()
    warns: bool = False

    def text(self) -> Iterator[str]:
        """The section as lines of text."""
        yield self.title
        sign = "! " if self.warns else ""
        yield from (f"  {sign}{sentence}" for sentence in self.sentences)
        yield from (f"  {line}" for line in self.lines)
        for record in self.records:
            if record.name:
                yield f"  {record.name}"
            width = max((len(what) for what, _ in record.facts), default=0)
            indent = "    " if record.name else "  "
            yield from (f"{indent}{what + ':':<{width + 1}} {how}" for what, how in record.facts)


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """What a pattern means and how it is run. Print it; in a notebook it shows itself."""

    pattern: str
    """The pattern in one line."""
    sections: tuple[Section, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may go wrong or be slow."""
        return tuple(sentence for section in self.sections if section.warns for sentence in section.sentences)

    def __str__(self) -> str:
        parts = [self.pattern, *("\n".join(section.text()) for section in self.sections)]
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return str(self)

    def __contains__(self, text: str) -> bool:
        return text in str(self)

    def _repr_html_(self) -> str:
        sections = "".join(_section_html(section) for section in self.sections)
        return (
            f'<div class="cepheid-explanation"><style>{_STYLE}</style>'
            f'<p class="pattern"><code>{escape(self.pattern)}</code></p>{sections}</div>'
        )


def has_names(section: Section) -> bool:
    """Whether the records of a section are told apart by a name."""
    return any(record.name for record in section.records)


def _section_html(section: Section) -> str:
    parts = [f"<h4>{escape(section.title)}</h4>"]
    if section.sentences:
        parts.append("<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in section.sentences) + "</ul>")
    if section.lines:
        parts.append(f"<pre>{escape(chr(10).join(section.lines))}</pre>")
    if section.records:
        rows = []
        for record in section.records:
            for number, (what, how) in enumerate(record.facts):
                span = f' rowspan="{len(record.facts)}"' if len(record.facts) > 1 else ""
                head = f"<th{span}>{escape(record.name)}</th>" if number == 0 and has_names(section) else ""
                rows.append(f'<tr>{head}<td class="what">{escape(what)}</td><td><code>{escape(how)}</code></td></tr>')
        parts.append(f"<table>{''.join(rows)}</table>")
    return f"<section{' class=warns' if section.warns else ''}>{''.join(parts)}</section>"


# Colours are those of the page around it, so that light and dark themes both work; only warnings have their own.
_STYLE = (
    ".cepheid-explanation{max-width:60rem;line-height:1.4}"
    ".cepheid-explanation h4{margin:1em 0 .3em}"
    ".cepheid-explanation pre{margin:0;padding:0;background:none;overflow-x:auto;line-height:1.35}"
    ".cepheid-explanation code{background:none;padding:0;overflow-wrap:anywhere;color:inherit}"
    ".cepheid-explanation ul{margin:.2em 0;padding-left:1.3em}"
    ".cepheid-explanation table{border-collapse:collapse;margin:0}"
    ".cepheid-explanation th,.cepheid-explanation td{text-align:left;vertical-align:top;padding:.15em .8em .15em 0;"
    "border:0;background:none}"
    ".cepheid-explanation .what{opacity:.75;white-space:nowrap}"
    ".cepheid-explanation .warns{border-left:4px solid #d98200;padding-left:.8em}"
)
