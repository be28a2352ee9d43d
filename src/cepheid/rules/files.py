"""A rule as a TOML file: the pattern as text, its key and labels, values for its parameters, and its tests.

In: the path of a file. Out: a `RuleFile`, or an error that names the file and the place in it. Nothing is run here.

    name = "card testing"             # the file's name without .toml if it is left out
    description = "Small payments, then a large one."
    pattern = "small[amount < :low]{3,} ~> large[amount > :high] within 10 minutes"
    partition_by = "card"
    severity = "high"
    tags = ["fraud"]
    order_by = "ts"                   # for the tests: when the events of [[examples]] happened
    measures = { tried = "COUNT(small.amount)" }

    [parameters]
    low = 2.0
    high = 500.0

    [[examples]]
    name = "three small ones, then a large one"
    events = [{ ts = 2026-03-02T10:00:00Z, card = "a", amount = 1.0 }, …]
    matches = [{ small = [1, 2, 3], large = 4 }]
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from cepheid.conditions import parse
from cepheid.conditions.parameters import parameters_in, parameters_of
from cepheid.errors import InputError
from cepheid.given import refuse_keys_by_step
from cepheid.options import names
from cepheid.rule import AnyRule, Rule, named
from cepheid.rules.examples import Example, example_of
from cepheid.rules.pattern_set import made_rule
from cepheid.rules.texts import pattern_of

_KEYS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "description": (str,),
    "pattern": (str,),
    "type_column": (str,),
    "partition_by": (str, list),
    "order_by": (str, list),
    "measures": (dict,),
    "severity": (str,),
    "tags": (str, list),
    "parameters": (dict,),
    "examples": (list,),
}
_WORDS: dict[type, str] = {str: "a string", list: "a list", dict: "a section"}
_AT = re.compile(r" \(at (line \d+, column \d+|end of document)\)$")


@dataclass(frozen=True, slots=True)
class RuleFile:
    """What a file says."""

    path: str
    rule: AnyRule
    description: str
    examples: tuple[Example, ...]


def read_file(path: Path, shown: str) -> RuleFile:
    """The rule of a file; `shown` is how errors call the file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        data = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise InputError(f"{shown}: byte {error.start} is not UTF-8.\n  A rule is a text file in UTF-8.") from None
    except OSError as error:
        raise InputError(f"{shown} cannot be read: {error.strerror or error}.") from None
    except tomllib.TOMLDecodeError as error:
        where = _AT.search(str(error))
        place = f", {where[1]}" if where else ""
        raise InputError(f"{shown}{place}: this is not TOML: {_AT.sub('', str(error))}.") from None
    except RecursionError:
        raise InputError(f"{shown} is nested too deeply.") from None
    _check(data, text, shown)
    with named(_place("pattern", text, shown)):
        pattern = pattern_of(data["pattern"], data.get("type_column"), data.get("parameters"))
    keys, tags = names(data.get("partition_by"), "partition_by"), names(data.get("tags"), "tags")
    name, severity = data.get("name", path.name.removesuffix(".toml")), data.get("severity")
    rule = made_rule(name, pattern, keys or None, data.get("measures"), severity, tags, shown)
    if isinstance(rule, Rule):
        _check_parameters(rule, _place("parameters", text, shown))
    order, examples = names(data.get("order_by"), "order_by"), []
    for number, given in enumerate(data.get("examples", ()), start=1):
        with named(f"{shown}, [[examples]] {number}"):
            examples.append(example_of(given, number, order, rule))
    return RuleFile(shown, rule, data.get("description", ""), tuple(examples))


def _check(data: Mapping[str, Any], text: str, shown: str) -> None:
    """Refuse keys that a rule file does not have, and values of another kind."""
    for name, value in data.items():
        place = _place(name, text, shown)
        if name not in _KEYS:
            near = get_close_matches(name, _KEYS, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(_KEYS)}."
            raise InputError(f"{place}: {name!r} is not a key of a rule.\n  {hint}")
        if name == "partition_by":
            with named(place):
                refuse_keys_by_step(value)
        if not isinstance(value, _KEYS[name]):
            kinds = " or ".join(_WORDS[kind] for kind in _KEYS[name])
            raise InputError(f"{place}: {name} = {value!r} is not {kinds}.")
    if "pattern" not in data:
        raise InputError(
            f"{shown} has no pattern.\n  For example: pattern = \"a[kind = 'A'] ~> b[kind = 'B'] within 10 minutes\"."
        )


def _check_parameters(rule: Rule, place: str) -> None:
    """Refuse values that nothing uses, and parameters without a value: in a file, each is a slip."""
    used = {*parameters_of(rule.tree), *(name for _, text in rule.measures for name in parameters_in(parse(text)))}
    given = {name for name, _ in rule.tree.parameters}
    for name in sorted(given - used):
        there = ", ".join(f":{one}" for one in sorted(used)) or "none"
        raise InputError(f"{place}: {name!r} has a value, but no condition has :{name}.\n  There are: {there}.")
    for name in sorted(used - given):
        raise InputError(f"{place}: :{name} has no value.\n  Give it one under [parameters]: {name} = 100.")


def _place(key: str, text: str, shown: str) -> str:
    """The file, and the line at which a key is given, where it can be told."""
    found = re.search(rf"^\s*(?:\[+)?\s*{re.escape(key)}\b", text, re.M)
    return shown if found is None else f"{shown}, line {text.count(chr(10), 0, found.end()) + 1}"
