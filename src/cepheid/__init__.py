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
from cepheid.pattern import Pattern
from cepheid.syntax import skip

__version__ = "0.1.0"

__all__ = [
    "CepheidError",
    "ConditionError",
    "EvaluationError",
    "InputError",
    "LimitError",
    "MalformedPatternError",
    "Pattern",
    "SkipError",
    "StateError",
    "__version__",
    "skip",
]
