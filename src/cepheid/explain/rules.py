"""What the rules of a set share, in words.

In: rules. Out: an `Explanation`. Called by the face of sets.
"""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.explain.sharing import conditions_of, key_text
from cepheid.explain.text.document import Explanation, Record, Section
from cepheid.rule import AnyRule, RowRule
from cepheid.syntax.notation import to_text

_FEW = 20


def explain_rules(rules: Sequence[AnyRule], execution: Section | None = None) -> Explanation:
    """What a set of rules is, and what its rules have in common."""
    known = conditions_of(rules)
    by_key: dict[tuple[str, ...], list[str]] = {}
    for rule in rules:
        by_key.setdefault(rule.partition_by, []).append(rule.name)
    shared = sorted((names, str(part)) for part, names in known.used.items() if len(names) > 1)
    shared.sort(key=lambda one: -len(one[0]))
    sections = [
        Section("rules", records=tuple(Record(rule.name, _facts(rule)) for rule in rules)),
        Section(
            "keys",
            ("Rows are moved and sorted once for each key.",),
            records=tuple(Record("", ((key_text(key), _listed(names)),)) for key, names in by_key.items()),
        ),
        Section(
            "conditions",
            (f"{known.asked} conditions, {len(known.used)} of them distinct: each is computed once.",),
            records=tuple(Record("", ((text, _listed(names)),)) for names, text in shared[:_FEW]),
        ),
    ]
    if known.seeing_all:
        seeing_all = tuple(Record("", (one,)) for one in known.seeing_all.items())
        sentence = "These rules see every row of their key, so no row can be left out:"
        sections.append(Section("all rows", (sentence,), records=seeing_all))
    if execution is not None:
        sections.append(execution)
    return Explanation(f"{len(rules)} rules", tuple(sections))


def _facts(rule: AnyRule) -> tuple[tuple[str, str], ...]:
    text = " ".join(str(rule.clause).split()) if isinstance(rule, RowRule) else to_text(rule.tree)
    facts = [("pattern", text)]
    facts += [("measures", ", ".join(name for name, _ in rule.measures))] if rule.measures else []
    facts += [("severity", rule.severity)] if rule.severity else []
    facts += [("tags", ", ".join(rule.tags))] if rule.tags else []
    return tuple(facts)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more
