"""The pattern language: the tree, the builder that makes it, and the forms that it is written in.

Patterns as users write them come in; a `PatternTree` goes out, which `check` has accepted. Everything else in Cepheid
starts from that tree. This room knows names, links and numbers; what a condition means is for the room `conditions`.
"""

from cepheid.syntax.builder import PatternBuilder
from cepheid.syntax.json_format import from_json, to_json
from cepheid.syntax.notation import to_python, to_text
from cepheid.syntax.tree import PatternTree
from cepheid.syntax.validation import can_be_empty, check

__all__ = ["PatternBuilder", "PatternTree", "can_be_empty", "check", "from_json", "to_json", "to_python", "to_text"]
