"""Cepheid: complex event processing for Apache Spark.

    from cepheid import Pattern, skip

`Pattern` describes what to look for; `pattern.match_events(rows)` looks for it in rows in memory.
"""

from typing import TYPE_CHECKING

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
from cepheid.on_demand import on_demand
from cepheid.version import VERSION as __version__

if TYPE_CHECKING:
    from cepheid.options import Limits
    from cepheid.pattern import Pattern
    from cepheid.row_pattern import RowPattern, sql
    from cepheid.rules.pattern_set import PatternSet
    from cepheid.syntax import skip
    from cepheid.syntax.combinations import all_of, one_of
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "Limits": "cepheid.options",
            "Pattern": "cepheid.pattern",
            "PatternSet": "cepheid.rules.pattern_set",
            "RowPattern": "cepheid.row_pattern",
            "all_of": "cepheid.syntax.combinations",
            "one_of": "cepheid.syntax.combinations",
            "skip": "cepheid.syntax",
            "sql": "cepheid.row_pattern",
        },
    )

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
