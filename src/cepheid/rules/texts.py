"""A rule's pattern from text, in any of the forms that a pattern has.

In: text: the printed notation, SASE (`EVENT …`), a clause of MATCH_RECOGNIZE (`… PATTERN (…) …`) or JSON (`{…}`). Out:
a checked `Pattern` or a `RowPattern`. Used by rule files and tables of rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cepheid.errors import InputError
from cepheid.pattern import Pattern
from cepheid.row_pattern import RowPattern

_CLAUSE = re.compile(r"\bPATTERN\s*\(", re.IGNORECASE)
"""What no other text of a pattern has."""


def pattern_of(
    text: str, type_column: str | None = None, parameters: Mapping[str, Any] | None = None
) -> Pattern | RowPattern:
    """The pattern that a text says, with values for its parameters."""
    is_json = text.lstrip().startswith("{")
    if is_json and type_column is not None:
        raise InputError("type_column is for SASE text, but the pattern is JSON.\n  Leave it out.")
    is_rows = '"row_pattern"' in text if is_json else _CLAUSE.search(text) is not None
    if is_rows:
        if type_column is not None or parameters:
            word = "parameters" if parameters else "type_column"
            raise InputError(f"a row pattern has no {word}.\n  Leave that out.")
        return RowPattern.from_json(text) if is_json else RowPattern.parse(text)
    pattern = Pattern.from_json(text) if is_json else Pattern.parse(text, type_column=type_column)
    return (pattern.bind(**parameters) if parameters else pattern).check()
