"""Pattern tree → SASE text that `reading` turns into the same pattern.

In: a checked tree. Out: text, or an error that names the part which SASE has no words for. The text is read back before
it is given out, so that no pattern ever becomes a text that means another one. Called by the face.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

from cepheid.conditions import parse
from cepheid.conditions.expression import Expression, Literal
from cepheid.conditions.types import STRING
from cepheid.errors import MalformedPatternError
from cepheid.sase.expressible import WrittenComponent, cannot_say, components_of
from cepheid.sase.qualifying import Said, said
from cepheid.sase.query import Strategy
from cepheid.sase.reading import DEFAULT_TYPE_COLUMN, read
from cepheid.sase.words import column, is_plain, word
from cepheid.syntax.durations import to_text
from cepheid.syntax.tree import EventCount, PatternTree, SkipKind
from cepheid.syntax.windows import PATTERN

Conjuncts: TypeAlias = tuple[tuple[WrittenComponent, tuple[Said, ...]], ...]
"""The conditions of each component, in the order of SEQ."""

_LINE = 110
"""Conditions that fit into so many characters are written on one line."""


def write(tree: PatternTree, type_column: str | None = None) -> str:
    """The pattern as SASE text.

    `type_column` holds the types, and whoever reads the text must give it as well. Where it is not given, it is the
    column that most components compare with strings, and the text names it (TYPED BY) unless it is `type`.
    """
    strategy, components = components_of(tree)
    conjuncts = tuple((component, said(component, components)) for component in components)
    types_by = type_column or _type_column(conjuncts)
    text = _Writing(tree, strategy, conjuncts, types_by).text(names_types=type_column is None)
    _check_same(text, type_column, tree, strategy, conjuncts)
    return text


@dataclass(frozen=True, slots=True)
class _Writing:
    """Puts the clauses together."""

    tree: PatternTree
    strategy: Strategy
    conjuncts: Conjuncts
    types_by: str

    def text(self, names_types: bool) -> str:
        components, conditions = (
            [],
            [f"[{', '.join(map(word, self.tree.partition_by))}]"] * bool(self.tree.partition_by),
        )
        for component, conjuncts in self.conjuncts:
            test = self._type_test(conjuncts)
            kind = "ANY" if test is None else _kind(test)
            written = f"{kind}{'+' if component.repeats else ''} {word(component.name)}"
            components.append(f"!({written})" if component.negated else written)
            rest = [conjunct for conjunct in conjuncts if conjunct is not test]
            conditions += [conjunct.text for conjunct in self._without_key(component, rest)]
        lines = [f"EVENT SEQ({', '.join(components)})"]
        if names_types and self.types_by != DEFAULT_TYPE_COLUMN:
            lines.append(f"TYPED BY {word(self.types_by)}")
        if conditions:
            line = f"WHERE {' AND '.join(conditions)}"
            lines.append(line if len(line) <= _LINE else "WHERE " + "\n  AND ".join(conditions))
        if self.strategy is not Strategy.ANY:
            lines.append(f"STRATEGY {self.strategy.value}")
        if isinstance(self.tree.window, EventCount):
            lines.append(f"WITHIN {self.tree.window.events} events")
        elif self.tree.window is not None:
            lines.append(f"WITHIN {to_text(self.tree.window)}")
        skip = self.tree.skip
        if skip.kind is not SkipKind.NO_SKIP:
            target = "" if skip.target is None else f" {word(skip.target)}"
            lines.append(f"SKIP {skip.kind.value.replace('_', ' ')}{target}{' or fail' if skip.or_fail else ''}")
        return "\n".join(lines)

    def _type_test(self, conjuncts: tuple[Said, ...]) -> Said | None:
        """The conjunct that says of which types the event is."""
        for conjunct in conjuncts:
            compared = conjunct.compared
            if compared is not None and compared[0].casefold() == self.types_by.casefold() and _are_types(compared[1]):
                return conjunct
        return None

    def _without_key(self, component: WrittenComponent, conjuncts: list[Said]) -> list[Said]:
        """The conjuncts without those that keep NULL keys out, which an equivalence says already."""
        for name in self.tree.partition_by:
            not_null = parse(f"{column(name)} IS NOT NULL")
            position = next((n for n, conjunct in enumerate(conjuncts) if conjunct.meaning == not_null), None)
            if position is None:
                raise cannot_say(
                    f"element {component.name!r}",
                    f"its key {name} may be NULL, which in SASE never matches",
                    f'Add .where("{column(name)} IS NOT NULL") to every element and not.',
                )
            conjuncts = conjuncts[:position] + conjuncts[position + 1 :]
        return conjuncts


def _type_column(conjuncts: Conjuncts) -> str:
    """The column that most components compare with strings."""
    counted: Counter[str] = Counter()
    for _, parts in conjuncts:
        compared = [part.compared for part in parts]
        counted.update({found[0] for found in compared if found is not None and _are_types(found[1], numbers=False)})
    # Of several, the first in writing: sets above have no order.
    order = [part.compared[0] for _, parts in conjuncts for part in parts if part.compared is not None]
    return max(counted, key=lambda name: (counted[name], -order.index(name)), default=DEFAULT_TYPE_COLUMN)


def _are_types(constants: tuple[Literal, ...], numbers: bool = True) -> bool:
    return all(constant.type == STRING or (numbers and str(constant).isdecimal()) for constant in constants)


def _kind(test: Said) -> str:
    assert test.compared is not None
    types = [_type(constant) for constant in test.compared[1]]
    return types[0] if len(types) == 1 else f"ANY({', '.join(types)})"


def _type(constant: Literal) -> str:
    plain = isinstance(constant.value, str) and is_plain(constant.value)
    return str(constant.value) if plain else str(constant)


def _check_same(
    text: str,
    type_column: str | None,
    tree: PatternTree,
    strategy: Strategy,
    conjuncts: Conjuncts,
) -> None:
    """Reads the text back and refuses if it says another pattern."""
    try:
        back = read(text, type_column)
    except MalformedPatternError as error:
        raise cannot_say(PATTERN, error.problem, f"As SASE text: {error.remedy}") from None
    strategy_back, components_back = components_of(back)
    for (component, wanted), got in zip(conjuncts, components_back, strict=True):
        before, after = (Counter(part.meaning for part in parts) for parts in (wanted, said(got, components_back)))
        for meaning in (*(before - after), *(after - before)):
            raise _moved(component, meaning)
        assert (component.name, component.negated, component.repeats) == (got.name, got.negated, got.repeats)
    assert (tree.window, tree.partition_by, strategy, tree.skip) == (
        back.window,
        back.partition_by,
        strategy_back,
        back.skip,
    )


def _moved(component: WrittenComponent, meaning: Expression) -> MalformedPatternError:
    return cannot_say(
        f"element {component.name!r}",
        f"the condition `{meaning}` would be asked of another component, the last one that it mentions",
        "Put it on the last element that it reads.",
    )
