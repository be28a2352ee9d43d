"""Shows the examples in docstrings as code: a block that begins with `>>>` is fenced before it is read as Markdown.

Called by mkdocstrings, as an extension of griffe (see mkdocs.yml).
"""

from __future__ import annotations

from typing import Any

import griffe


def fenced(text: str) -> str:
    """Each paragraph that is an example, between fences."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(f"```pycon\n{part}\n```" if part.startswith(">>> ") else part for part in paragraphs)


class FenceDoctests(griffe.Extension):
    """Fences the examples of every docstring."""

    def on_instance(self, *, obj: griffe.Object, **arguments: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
