"""A rule's pattern from text, in any of the forms that a pattern has.

In: text: the printed notation, SASE (`EVENT …`) or JSON (`{…}`). Out: a checked `Pattern`. Used by rule files and
tables of rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cepheid.errors import InputError
from cepheid.pattern import Pattern


def pattern_of(text: str, type_column: str | None = None, parameters: Mapping[str, Any] | None = None) -> Pattern:
    """The pattern that a text says, with values for its parameters."""
    if text.lstrip().startswith("{"):
        if type_column is not None:
            raise InputError("type_column is for SASE text, but the pattern is JSON.\n  Leave it out.")
        pattern = Pattern.from_json(text)
    else:
        pattern = Pattern.parse(text, type_column=type_column)
    return (pattern.bind(**parameters) if parameters else pattern).check()
