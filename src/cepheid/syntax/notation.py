"""Patterns as text for people: a tree comes in; Python that rebuilds it, or one compact line, goes out.

`repr` and `str` of a pattern use these, and so may explanations and errors. Python reads the first; the second is read
back by the room `notation`, so each form that is added here has its place in the grammar there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from cepheid.syntax.durations import to_text as span_to_text
from cepheid.syntax.sql_pieces import inside, one_line, parts
from cepheid.syntax.tree import (
    AllOf,
    AllOfMembers,
    AnyOf,
    ColumnCondition,
    Condition,
    Contiguity,
    Element,
    EventCount,
    Fold,
    Gaps,
    Link,
    Loop,
    Not,
    NotLink,
    OneOf,
    PatternTree,
    PythonCondition,
    Sequence,
    Skip,
    SkipKind,
    Span,
    SpanUnit,
    SqlText,
    Variable,
    Window,
)
from cepheid.syntax.visitor import PartVisitor


def to_python(tree: PatternTree, name: str = "Pattern") -> str:
    """Python that rebuilds the pattern, given the names `Pattern` (or `name`), `skip`, `one_of` and `all_of`.

    A callable is printed as its qualified name and a Spark Column as its own text: such a pattern cannot be rebuilt
    from the result alone. Conditions that `where` and `or_where` cannot reach step by step, which only other front ends
    make, are printed as nodes of the tree (`AnyOf`, `AllOf`, `SqlText`).
    """
    steps = []
    for before in tree.not_before:
        steps += [f"not_before({_quoted(before.name)})", *_where_steps(before.condition)]
    steps += _sequence_steps(tree.body, name)
    if tree.window is not None:
        steps.append(f"within({_window_argument(tree.window)})")
    if tree.partition_by:
        steps.append(f"partition_by({', '.join(map(_quoted, tree.partition_by))})")
    if tree.skip.kind is not SkipKind.NO_SKIP:
        steps.append(f"skip({_skip_argument(tree.skip)})")
    if tree.once_per is not None:
        steps.append(f"once_per({_span_argument(tree.once_per)})")
    if tree.parameters:
        steps.append(f"bind({', '.join(f'{name}={value!r}' for name, value in tree.parameters)})")
    start = name if steps and steps[0].startswith(("begin(", "not_before(")) else f"{name}()"
    return ".".join((start, *steps))


def _sequence_steps(sequence: Sequence, name: str) -> list[str]:
    visitor = _Steps(name)
    return [step for part in sequence.elements for step in visitor.visit(part)]


class _Steps(PartVisitor[list[str]]):
    """The calls that add an element or not; `name` is that of the builder's class."""

    def __init__(self, name: str) -> None:
        self._name = name

    def variable(self, element: Element, body: Variable) -> list[str]:
        folds = [
            f"fold({_quoted(fold.name)}, init={_quoted(fold.init)}, update={_quoted(fold.update)})"
            for fold in body.folds
        ]
        opened = f"{element.link.value}({_quoted(body.name)})"
        return [opened, *_where_steps(body.condition), *folds, *_quantifier_steps(element)]

    def group(self, element: Element, body: Sequence) -> list[str]:
        inside = ".".join((self._name, *_sequence_steps(body, self._name)))
        return [f"{element.link.value}({inside})", *_quantifier_steps(element)]

    def one_of(self, element: Element, body: OneOf) -> list[str]:
        return [f"{element.link.value}(one_of({self._parts(body.alternatives)}))", *_quantifier_steps(element)]

    def all_of(self, element: Element, body: AllOfMembers) -> list[str]:
        least = "" if body.at_least == len(body.members) else f", at_least={body.at_least}"
        return [f"{element.link.value}(all_of({self._parts(body.members)}{least}))", *_quantifier_steps(element)]

    def negation(self, negation: Not) -> list[str]:
        steps = [f"{negation.link.value}({_quoted(negation.name)})", *_where_steps(negation.condition)]
        return steps + _bound_steps(negation)

    def _parts(self, parts: tuple[Element, ...]) -> str:
        return ", ".join(".".join((self._name, *self.visit(part))) for part in parts)


def _quantifier_steps(element: Element) -> list[str]:
    steps = []
    loop = element.loop
    if loop is not None:
        steps.append(_loop_step(loop))
    inner = inner_contiguity(element)
    if inner is not Contiguity.RELAXED:
        steps.append("consecutive()" if inner is Contiguity.STRICT else "allow_combinations()")
    if loop is not None:
        if loop.greedy:
            steps.append("whole()" if loop.whole else "greedy()")
        if loop.until is not None:
            steps.append(f"until({', '.join(_arguments(loop.until))})")
    if element.having is not None:
        steps.append(f"having({', '.join(_arguments(element.having))})")
    if element.optional:
        steps.append("optional()")
    return steps + _bound_steps(element)


def _bound_steps(part: Element | Not) -> list[str]:
    steps = []
    if part.within_previous is not None:
        steps.append(f'within({_span_argument(part.within_previous)}, since="previous")')
    if isinstance(part, Element) and part.within_since is not None:
        since = part.within_since
        steps.append(f"within({_span_argument(since.span)}, since={_quoted(since.variable)})")
    return steps


def inner_contiguity(element: Element) -> Contiguity:
    """The contiguity between repetitions, and between the members of an all_of."""
    if isinstance(element.body, AllOfMembers):
        return element.body.inner
    return Contiguity.RELAXED if element.loop is None else element.loop.inner


def _loop_step(loop: Loop) -> str:
    bound = [] if loop.gaps is None else [f"within={_gaps_argument(loop.gaps)}"]
    if loop.maximum is None:
        if loop.minimum == 1:
            return f"one_or_more({', '.join(bound)})"
        return f"times_or_more({', '.join((str(loop.minimum), *bound))})"
    counts = [str(loop.minimum)] if loop.minimum == loop.maximum else [str(loop.minimum), str(loop.maximum)]
    return f"times({', '.join((*counts, *bound))})"


def _where_steps(condition: Condition | None) -> list[str]:
    """The calls of `where` and `or_where` that lead to a condition, innermost first."""
    if condition is None:
        return []
    if isinstance(condition, AllOf | AnyOf):
        first, *rest = condition.parts
        if isinstance(condition, AllOf) and all(_is_leaf(part) for part in rest):
            if _is_leaf(first):
                return [f"where({', '.join(map(_argument, condition.parts))})"]
            return [*_where_steps(first), f"where({', '.join(map(_argument, rest))})"]
        if isinstance(condition, AnyOf) and all(_is_leaf(part) or _is_all_of_leaves(part) for part in rest):
            return [*_where_steps(first), *(f"or_where({', '.join(_arguments(part))})" for part in rest)]
    return [f"where({_argument(condition)})"]


def _is_leaf(condition: Condition) -> bool:
    return not isinstance(condition, AllOf | AnyOf)


def _is_all_of_leaves(condition: Condition) -> bool:
    return isinstance(condition, AllOf) and all(_is_leaf(part) for part in condition.parts)


def _arguments(condition: Condition) -> list[str]:
    """A condition as the arguments of one call, which means AND."""
    parts = condition.parts if isinstance(condition, AllOf) else (condition,)
    return [_argument(part) for part in parts]


def _argument(condition: Condition) -> str:
    if isinstance(condition, AllOf | AnyOf):
        return f"{type(condition).__name__}(({', '.join(map(_node, condition.parts))},))"
    return _quoted(condition.text) if isinstance(condition, SqlText) else _name_of(condition)


def _node(condition: Condition) -> str:
    if isinstance(condition, AllOf | AnyOf):
        return _argument(condition)
    return f"{type(condition).__name__}({_argument(condition)})"


def _name_of(condition: PythonCondition | ColumnCondition) -> str:
    if isinstance(condition, ColumnCondition):
        return str(condition.column)
    function = condition.function
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def _quoted(text: str) -> str:
    """A Python literal in double quotes where that needs no more escapes: SQL is full of single ones."""
    if '"' in text or not text.isprintable() or "\\" in text:
        return repr(text)
    return f'"{text}"'


def _span_argument(span: Span) -> str:
    return span_to_text(span) if span.unit is SpanUnit.ORDER else f'"{span_to_text(span)}"'


def _window_argument(window: Window) -> str:
    return f"events={window.events}" if isinstance(window, EventCount) else _span_argument(window)


def _gaps_argument(gaps: Gaps) -> str:
    if gaps.every is not None:
        return _span_argument(gaps.every)
    return f"{{{', '.join(f'{n}: {_span_argument(span)}' for n, span in gaps.by_repetition)}}}"


def _skip_argument(skip: Skip) -> str:
    if skip.target is None:
        return f"skip.{skip.kind.value}"
    return f"skip.{skip.kind.value}({_quoted(skip.target)}{', or_fail=True' if skip.or_fail else ''})"


_CLAUSES = ("within", "by", "skip", "once", "with")
"""The words that begin a clause, and so may follow a key."""
_ARROWS = {
    Link.BEGIN: "",
    Link.NEXT: " -> ",
    Link.FOLLOWED_BY: " ~> ",
    Link.FOLLOWED_BY_ANY: " ~>> ",
    NotLink.NOT_NEXT: " -> !",
    NotLink.NOT_FOLLOWED_BY: " ~> !",
}


def to_text(tree: PatternTree) -> str:
    """The pattern in one line, such as `a[x = 1]+ ~> !b[y = 2] ~>> (c -> d){2,3}? within 10 minutes`.

    `->` next, `~>` followed by, `~>>` followed by any, `!` a not, `( )` a group, `( | )` one of, `( & )` all of,
    `[ ]` a condition;
    `{n}` `{n,m}` `{n,}` times, `+` one or more, `?` optional, `*` one or more or none at all;
    `< >` what else an element has: consecutive, combinations, greedy, whole, until, having, gaps, folds, at least so
    many members, its windows since the previous event or a variable. Before the pattern: `!x[c] before`, what must not
    have happened. After it: window, key, skip strategy, once per.
    """
    nots = ", ".join(f"!{_named(before.name)}{_bracketed(before.condition)}" for before in tree.not_before)
    after = []
    if isinstance(tree.window, EventCount):
        after.append(f"within {tree.window.events} events")
    elif tree.window is not None:
        after.append(f"within {span_to_text(tree.window)}")
    if tree.partition_by:
        after.append(f"by {', '.join(map(_key, tree.partition_by))}")
    if tree.skip.kind is not SkipKind.NO_SKIP:
        target = "" if tree.skip.target is None else f" {_named(tree.skip.target)}"
        fail = " or fail" if tree.skip.or_fail else ""
        after.append(f"skip {tree.skip.kind.value.replace('_', ' ')}{target}{fail}")
    if tree.once_per is not None:
        after.append(f"once per {span_to_text(tree.once_per)}")
    if tree.parameters:
        after.append(f"with {', '.join(f'{name} = {json.dumps(value)}' for name, value in tree.parameters)}")
    before_it = [f"{nots} before"] if nots else []
    return " ".join((*before_it, _sequence_text(tree.body) or "(no element)", *((", ".join(after),) if after else ())))


def quantifier(loop: Loop) -> str:
    """How often a loop repeats, as in a regular expression: `+`, `{2}`, `{2,3}`, `{2,}`."""
    if loop.maximum is None:
        return "+" if loop.minimum == 1 else f"{{{loop.minimum},}}"
    if loop.maximum == loop.minimum:
        return f"{{{loop.minimum}}}"
    return f"{{{loop.minimum},{loop.maximum}}}"


def _sequence_text(sequence: Sequence) -> str:
    return "".join(_ARROWS[part.link] + _TEXT.visit(part) for part in sequence.elements).lstrip()


class _Text(PartVisitor[str]):
    """One element or not, without its link."""

    def variable(self, element: Element, body: Variable) -> str:
        folds = [_fold_text(fold) for fold in body.folds]
        return _quantified(_named(body.name) + _bracketed(body.condition), element, folds)

    def group(self, element: Element, body: Sequence) -> str:
        return _quantified(f"({_sequence_text(body)})", element)

    def one_of(self, element: Element, body: OneOf) -> str:
        return _quantified(f"({' | '.join(map(self.visit, body.alternatives))})", element)

    def all_of(self, element: Element, body: AllOfMembers) -> str:
        least = [] if body.at_least == len(body.members) else [f"at least {body.at_least}"]
        return _quantified(f"({' & '.join(map(self.visit, body.members))})", element, least)

    def negation(self, negation: Not) -> str:
        return _with_extras(_named(negation.name) + _bracketed(negation.condition), _bound_extras(negation))


_TEXT = _Text()


def _quantified(text: str, element: Element, extras: Iterable[str] = ()) -> str:
    """An element's text with its quantifier and everything else that it has."""
    sign = "" if element.loop is None else quantifier(element.loop)
    if element.optional:
        sign = "*" if sign == "+" else f"{sign}?"
    having = [] if element.having is None else [f"having {_bracketed(element.having)}"]
    return _with_extras(text + sign, [*extras, *_loop_extras(element), *having, *_bound_extras(element)])


def _bound_extras(part: Element | Not) -> list[str]:
    extras = []
    if part.within_previous is not None:
        extras.append(f"within {span_to_text(part.within_previous)} since previous")
    if isinstance(part, Element) and part.within_since is not None:
        since = part.within_since
        variable = _backquoted("previous") if since.variable == "previous" else _named(since.variable)
        extras.append(f"within {span_to_text(since.span)} since {variable}")
    return extras


def _with_extras(text: str, extras: list[str]) -> str:
    return f"{text}<{'; '.join(extras)}>" if extras else text


def _loop_extras(element: Element) -> list[str]:
    extras = []
    inner, loop = inner_contiguity(element), element.loop
    if inner is not Contiguity.RELAXED:
        extras.append("consecutive" if inner is Contiguity.STRICT else "combinations")
    if loop is None:
        return extras
    if loop.greedy:
        extras.append("whole" if loop.whole else "greedy")
    if loop.until is not None:
        extras.append(f"until {_bracketed(loop.until)}")
    if loop.gaps is not None:
        if loop.gaps.every is not None:
            extras.append(f"gaps {span_to_text(loop.gaps.every)}")
        else:
            spans = ", ".join(f"{n}: {span_to_text(span)}" for n, span in loop.gaps.by_repetition)
            extras.append(f"gaps {{{spans}}}")
    return extras


def _named(name: str) -> str:
    """The name, in backquotes where it could be taken for something else."""
    return name if name.isidentifier() else _backquoted(name)


def _key(name: str) -> str:
    """A column of the key; a clause may follow it, so the words that begin one are in backquotes."""
    return _backquoted(name) if name.lower() in _CLAUSES else _named(name)


def _backquoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _fold_text(fold: Fold) -> str:
    return f"fold {_named(fold.name)} = [{one_line(fold.init)}] then [{one_line(fold.update)}]"


def _bracketed(condition: Condition | None) -> str:
    return "" if condition is None else f"[{_written(condition)}]"


def _written(condition: Condition) -> str:
    """A condition that can be read back: a text that looks like combined parts is in parentheses once more."""
    if isinstance(condition, AllOf | AnyOf):
        word = " AND " if isinstance(condition, AllOf) else " OR "
        return word.join(f"({_written(part)})" for part in condition.parts)
    text = one_line(condition_text(condition))
    return f"({text})" if parts(text) is not None or inside(text) is not None else text


def condition_text(condition: Condition) -> str:
    """A condition as it was written; parts that `where` and `or_where` combined are in parentheses."""
    if isinstance(condition, SqlText):
        return condition.text
    if isinstance(condition, AllOf | AnyOf):
        word = " AND " if isinstance(condition, AllOf) else " OR "
        return word.join(f"({condition_text(part)})" for part in condition.parts)
    return _name_of(condition)
