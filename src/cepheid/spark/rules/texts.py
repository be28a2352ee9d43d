"""Rules as text that a checkpoint keeps, so that a rule can go on while its source cannot be read.

In: a rule of either kind. Out: a line of text, and the rule that it says. Used by `registry` and `stream_plan`.
"""

from __future__ import annotations

import json

from cepheid.match_recognize.json_format import from_json, to_json
from cepheid.rule import AnyRule, RowRule, Rule
from cepheid.rule import read as read_pattern
from cepheid.rule import written as written_pattern

_CLAUSE = "row_rule"


def written(rule: AnyRule) -> str:
    """The rule as text; nothing for one that has no text, such as a callable."""
    if isinstance(rule, Rule):
        return written_pattern(rule)
    return json.dumps({_CLAUSE: [rule.name, to_json(rule.clause), rule.severity, rule.tags, rule.place]})


def read(text: str) -> AnyRule:
    """The rule that `written` wrote."""
    known = json.loads(text)
    if not isinstance(known, dict):
        return read_pattern(text)
    name, clause, severity, tags, place = known[_CLAUSE]
    return RowRule(name, from_json(clause), severity, tuple(tags), place)
