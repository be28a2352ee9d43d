"""Which rules of a source run: those that can, and for those that cannot the version that ran before.

In: the rules that a source has, what cannot be read of it, a plan of the same stream, what the checkpoint says. Out:
the plan of the rules that run, and what is rejected. Called by `query`.

A file is broken for a moment while someone works on it. If its rule went, its partial matches would go with it; so the
version before goes on until the file is right again or is deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cepheid.errors import CepheidError
from cepheid.rule import AnyRule
from cepheid.spark.rules.registry import Registry
from cepheid.spark.rules.stream_plan import RulesStreamPlan

GOES_ON = "The version that ran before goes on."


@dataclass(frozen=True, slots=True)
class Choice:
    """What runs from now on."""

    plan: RulesStreamPlan | None
    """None if there is no rule that can run."""
    rejected: tuple[tuple[str, str], ...]
    """Where each rule that cannot be used is from, and the reason."""


def choose(
    rules: Sequence[AnyRule], wrong: Sequence[tuple[str, str]], plan: RulesStreamPlan, registry: Registry | None
) -> Choice:
    """The rules that can be used, and the last good versions of the others."""
    whole, refused = _planned(rules, plan, registry)
    if not wrong and not refused:
        return Choice(whole, ())
    good = [rule for rule in rules if rule.name not in refused]
    before: dict[str, AnyRule] = {_source(rule): rule for rule in ([] if registry is None else registry.rules())}
    before |= {_source(rule): rule for rule in plan.bound.rules}
    taken = {rule.name.lower() for rule in good}
    rejected: list[tuple[str, str]] = []
    kept: list[AnyRule] = []
    for place, reason in (*wrong, *((_source(rule), refused[rule.name]) for rule in rules if rule.name in refused)):
        last = before.get(place)
        if last is not None and last.name.lower() not in taken and not _planned([last], plan, registry)[1]:
            kept.append(last)
            taken.add(last.name.lower())
            reason = f"{reason}\n  {GOES_ON}"
        rejected.append((place, reason))
    running = [*good, *kept]
    return Choice(_planned(running, plan, registry)[0] if running else None, tuple(rejected))


def _source(rule: AnyRule) -> str:
    """Where a rule is from."""
    return rule.place or rule.name


def _planned(
    rules: Sequence[AnyRule], plan: RulesStreamPlan, registry: Registry | None
) -> tuple[RulesStreamPlan | None, dict[str, str]]:
    """The plan of some rules; or why some of them are refused, by name."""
    if not rules:
        return None, {}
    try:
        made = plan if tuple(rules) == plan.bound.rules else plan.with_rules(rules)
        if registry is not None:
            made.refuse_keys(registry)
        return made, {}
    except CepheidError as error:
        if len(rules) == 1:
            return None, {rules[0].name: str(error)}
    refused: dict[str, str] = {}
    for rule in rules:
        refused |= _planned([rule], plan, registry)[1]
    return None, refused
