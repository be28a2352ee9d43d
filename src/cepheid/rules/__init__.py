"""Sets of rules: many patterns in one pass, kept in files, tested, and changed while a stream runs.

The chain: `files` reads rules from text; `pattern_set` is the face; `examples` runs the tests that a rule file carries;
`directory` is a directory of rule files that a stream watches.
"""

from cepheid.rule import RowRule, Rule
from cepheid.rules.directory import Directory, directory
from cepheid.rules.pattern_set import PatternSet

__all__ = ["Directory", "PatternSet", "RowRule", "Rule", "directory"]
