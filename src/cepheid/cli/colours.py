"""An explanation in colours, for a terminal.

In: an `Explanation`. Out: what rich prints. Used by the commands that explain.
"""

from __future__ import annotations

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cepheid.explain import Explanation
from cepheid.explain.text.document import Section, has_names


def coloured(explanation: Explanation) -> Group:
    """The sections of an explanation, their titles in colours."""
    shown: list[Text | Padding] = [Text(explanation.pattern, style="bold")]
    for section in explanation.sections:
        shown.append(Text(f"\n{section.title}", style="bold yellow" if section.warns else "bold cyan"))
        for sentence in section.sentences:
            shown.append(Padding(Text(f"{'! ' if section.warns else ''}{sentence}"), (0, 0, 0, 2)))
        if section.lines:
            shown.append(Padding(Text("\n".join(section.lines)), (0, 0, 0, 2)))
        if section.records:
            shown.append(Padding(_records(section), (0, 0, 0, 2)))
    return Group(*shown)


def _records(section: Section) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for record in section.records:
        for number, (what, how) in enumerate(record.facts):
            first = [Text(record.name if number == 0 else "", style="bold")] if has_names(section) else []
            table.add_row(*first, Text(what, style="dim"), Text(how))
    return table
