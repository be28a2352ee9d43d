"""The pattern language: the tree, the builder that makes it, and the forms that it is written in.

Patterns as users write them come in; a `PatternTree` goes out, which `check` has accepted. Everything else in Cepheid
starts from that tree. This room knows names, links and numbers; what a condition means is for the room `conditions`.
"""

from typing import TYPE_CHECKING

from cepheid.on_demand import on_demand

if TYPE_CHECKING:
    from cepheid.syntax.builder import PatternBuilder
    from cepheid.syntax.json_format import from_json, to_json
    from cepheid.syntax.notation import to_python, to_text
    from cepheid.syntax.tree import PatternTree
    from cepheid.syntax.validation import can_be_empty, check
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "PatternBuilder": "cepheid.syntax.builder",
            "PatternTree": "cepheid.syntax.tree",
            "can_be_empty": "cepheid.syntax.validation",
            "check": "cepheid.syntax.validation",
            "from_json": "cepheid.syntax.json_format",
            "to_json": "cepheid.syntax.json_format",
            "to_python": "cepheid.syntax.notation",
            "to_text": "cepheid.syntax.notation",
        },
    )

__all__ = ["PatternBuilder", "PatternTree", "can_be_empty", "check", "from_json", "to_json", "to_python", "to_text"]
