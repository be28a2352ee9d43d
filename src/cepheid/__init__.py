"""Cepheid: complex event processing for Apache Spark.

    from cepheid import Pattern, skip

`Pattern` describes what to look for; `pattern.match_events(rows)` looks for it in rows in memory.
"""

from cepheid.errors import (
    CepheidError,
    ConditionError,
    EvaluationError,
    InputError,
    LimitError,
    MalformedPatternError,
    SkipError,
    StateError,
)
from cepheid.options import Limits
from cepheid.pattern import Pattern
from cepheid.row_pattern import RowPattern, sql
from cepheid.rules.pattern_set import PatternSet
from cepheid.syntax import skip
from cepheid.syntax.combinations import all_of, one_of
from cepheid.version import VERSION as __version__

__all__ = [
    "CepheidError",
    "ConditionError",
    "EvaluationError",
    "InputError",
    "LimitError",
    "Limits",
    "MalformedPatternError",
    "Pattern",
    "PatternSet",
    "RowPattern",
    "SkipError",
    "StateError",
    "__version__",
    "all_of",
    "one_of",
    "skip",
    "sql",
]
