"""Patterns as text for people: a tree comes in; Python that rebuilds it, or one compact line, goes out.

`repr` and `str` of a pattern use these, and so may explanations and errors. Neither is read back by Cepheid: Python
reads the first, and JSON (`json_format`) is for storing.
"""

from __future__ import annotations

from cepheid.syntax.durations import to_text as span_to_text
from cepheid.syntax.tree import (
    AllOf,
    AnyOf,
    ColumnCondition,
    Condition,
    Contiguity,
    Element,
    EventCount,
    Gaps,
    Link,
    Loop,
    Not,
    NotLink,
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


def to_python(tree: PatternTree, name: str = "Pattern") -> str:
    """Python that rebuilds the pattern, given the names `Pattern` (or `name`) and `skip`.

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
    start = name if steps and steps[0].startswith(("begin(", "not_before(")) else f"{name}()"
    return ".".join((start, *steps))


def _sequence_steps(sequence: Sequence, name: str) -> list[str]:
    steps: list[str] = []
    for element in sequence.elements:
        if isinstance(element, Not):
            steps += [f"{element.link.value}({_quoted(element.name)})", *_where_steps(element.condition)]
        elif isinstance(element.body, Variable):
            steps += [f"{element.link.value}({_quoted(element.body.name)})", *_where_steps(element.body.condition)]
            for fold in element.body.folds:
                texts = f"init={_quoted(fold.init)}, update={_quoted(fold.update)}"
                steps.append(f"fold({_quoted(fold.name)}, {texts})")
            steps += _quantifier_steps(element)
        else:
            group = ".".join((name, *_sequence_steps(element.body, name)))
            steps += [f"{element.link.value}({group})", *_quantifier_steps(element)]
        if element.within_previous is not None:
            steps.append(f'within({_span_argument(element.within_previous)}, since="previous")')
    return steps


def _quantifier_steps(element: Element) -> list[str]:
    steps = []
    if element.loop is not None:
        loop = element.loop
        steps.append(_loop_step(loop))
        if loop.inner is not Contiguity.RELAXED:
            steps.append("consecutive()" if loop.inner is Contiguity.STRICT else "allow_combinations()")
        if loop.greedy:
            steps.append("greedy()")
        if loop.until is not None:
            steps.append(f"until({', '.join(_arguments(loop.until))})")
    if element.optional:
        steps.append("optional()")
    return steps


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

    `->` next, `~>` followed by, `~>>` followed by any, `!` a not, `( )` a group, `[ ]` a condition;
    `{n}` `{n,m}` `{n,}` times, `+` one or more, `?` optional, `*` one or more or none at all;
    `< >` what else an element has: consecutive, combinations, greedy, until, gaps, folds, its window since the previous
    event. Before the pattern: `!x[c] before`, what must not have happened. Behind it: window and skip strategy.
    """
    nots = ", ".join(f"!{_named(before.name)}{_bracketed(before.condition)}" for before in tree.not_before)
    behind = []
    if isinstance(tree.window, EventCount):
        behind.append(f"within {tree.window.events} events")
    elif tree.window is not None:
        behind.append(f"within {span_to_text(tree.window)}")
    if tree.partition_by:
        behind.append(f"by {', '.join(map(_named, tree.partition_by))}")
    if tree.skip.kind is not SkipKind.NO_SKIP:
        target = "" if tree.skip.target is None else f" {tree.skip.target}"
        fail = " or fail" if tree.skip.or_fail else ""
        behind.append(f"skip {tree.skip.kind.value.replace('_', ' ')}{target}{fail}")
    before_it = [f"{nots} before"] if nots else []
    return " ".join((*before_it, _sequence_text(tree.body) or "(nothing)", *((", ".join(behind),) if behind else ())))


def quantifier(loop: Loop) -> str:
    """How often a loop repeats, as in a regular expression: `+`, `{2}`, `{2,3}`, `{2,}`."""
    if loop.maximum is None:
        return "+" if loop.minimum == 1 else f"{{{loop.minimum},}}"
    if loop.maximum == loop.minimum:
        return f"{{{loop.minimum}}}"
    return f"{{{loop.minimum},{loop.maximum}}}"


def _sequence_text(sequence: Sequence) -> str:
    return "".join(_ARROWS[element.link] + _element_text(element) for element in sequence.elements).lstrip()


def _element_text(element: Element | Not) -> str:
    extras = []
    if isinstance(element, Not):
        text = _named(element.name) + _bracketed(element.condition)
    else:
        if isinstance(element.body, Variable):
            text = _named(element.body.name) + _bracketed(element.body.condition)
            extras += [f"fold {fold.name} = {fold.init}, then {fold.update}" for fold in element.body.folds]
        else:
            text = f"({_sequence_text(element.body)})"
        sign = "" if element.loop is None else quantifier(element.loop)
        if element.optional:
            sign = "*" if sign == "+" else f"{sign}?"
        text += sign
        if element.loop is not None:
            extras += _loop_extras(element.loop)
    if element.within_previous is not None:
        extras.append(f"within {span_to_text(element.within_previous)} since previous")
    return f"{text}<{'; '.join(_one_line(extra) for extra in extras)}>" if extras else text


def _loop_extras(loop: Loop) -> list[str]:
    extras = []
    if loop.inner is not Contiguity.RELAXED:
        extras.append("consecutive" if loop.inner is Contiguity.STRICT else "combinations")
    if loop.greedy:
        extras.append("greedy")
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
    return name if name.isidentifier() else f"`{name}`"


def _bracketed(condition: Condition | None) -> str:
    return "" if condition is None else f"[{_one_line(condition_text(condition))}]"


def condition_text(condition: Condition) -> str:
    """A condition as it was written; parts that `where` and `or_where` combined stand in parentheses."""
    if isinstance(condition, SqlText):
        return condition.text
    if isinstance(condition, AllOf | AnyOf):
        word = " AND " if isinstance(condition, AllOf) else " OR "
        return word.join(f"({condition_text(part)})" for part in condition.parts)
    return _name_of(condition)


def _one_line(text: str) -> str:
    return " ".join(text.split()) if "\n" in text or "\r" in text else text
