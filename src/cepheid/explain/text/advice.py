"""What may surprise: slow ways, results without limit, state without limit.

In: a tree, its automaton and strategy. Out: sentences, each with the way out. Called by `explaining`.
"""

from __future__ import annotations

from collections.abc import Iterator

from cepheid.automaton.model import Automaton
from cepheid.conditions.expression import Cast, Literal
from cepheid.conditions.expression import walk as nodes
from cepheid.conditions.self_defeating import self_defeating
from cepheid.conditions.types import Kind
from cepheid.explain.text.strategy import Memory, Strategy, unbounded_loops
from cepheid.syntax.positions import elements_at_the_end
from cepheid.syntax.tree import Contiguity, Element, Link, PatternTree, SkipKind, Variable, elements, variables, walk


def advice(tree: PatternTree, automaton: Automaton, chosen: Strategy, not_compiled: str | None) -> Iterator[str]:
    """The warnings of a pattern, the gravest first."""
    yield from self_defeating(tree)
    if not_compiled is not None:
        yield (
            f"The pattern has {not_compiled}: the slow evaluator runs it, in memory only. "
            "Write the condition as SQL text, or compute that part as a column."
        )
    if chosen.bound is None:
        yield (f'{_unbounded(tree, chosen)} Give the pattern a window, such as within("1 day"){_or_skip(chosen)}.')
    last = _trailing_loop(tree)
    if last is not None and tree.window is None and tree.skip.kind is SkipKind.NO_SKIP:
        yield (
            f"The pattern ends with {last!r}, a loop without limit, and has no window: each further event makes "
            "one more match of every start. Give it a window, an until, or skip past the last event."
        )
    else:
        yield from _every_length(tree)
    yield from _combinations(tree)
    yield from _any_start(tree)
    yield from _texts_as_numbers(automaton)


def _unbounded(tree: PatternTree, chosen: Strategy) -> str:
    if chosen.memory is Memory.RUN_PER_STATE:
        names = ", ".join(repr(name) for name in unbounded_loops(tree))
        return f"On a stream the events that {names} takes are held until the match ends, without limit."
    return "On a stream partial matches wait without limit."


def _or_skip(chosen: Strategy) -> str:
    return ", or skip past the last event" if chosen.memory is Memory.ALL_RUNS else ""


def _trailing_loop(tree: PatternTree) -> str | None:
    """The variable at the end that may take any number of events."""
    names = [variable.name for _, _, variable in variables(tree.body)]
    last = names[-1] if names else None
    elements = [element for element in tree.body.elements if isinstance(element, Element)]
    if last is None or not elements or elements[-1].loop is None or elements[-1].loop.until is not None:
        return None
    return last if last in unbounded_loops(tree) else None


def _every_length(tree: PatternTree) -> Iterator[str]:
    """A loop at the end that may be left after each of its events, where every match counts."""
    last = set(elements_at_the_end(tree.body))
    for path, element in elements(tree.body):
        loop = element.loop
        if loop is None or path not in last or loop.whole or loop.minimum == loop.maximum:
            continue
        if tree.skip.kind is SkipKind.NO_SKIP and isinstance(element.body, Variable):
            yield (
                f"The pattern can end with {element.body.name!r} after each of its events, and every match counts: the "
                "longest run is listed, and so are all shorter ones. Write whole() on the loop for the longest one of "
                "each start, and skip past the last event for the longest one of all."
            )
            return


def _combinations(tree: PatternTree) -> Iterator[str]:
    """Ways to have many matches from few events, where nothing keeps only one."""
    if tree.skip.kind is not SkipKind.NO_SKIP:
        return
    for _, element in walk(tree.body):
        if not isinstance(element, Element):
            continue
        if element.loop is not None and element.loop.inner is Contiguity.NON_DETERMINISTIC:
            yield (
                "A loop takes all combinations of its events: their number doubles with each event it could take. "
                "Keep its window short, or leave out allow_combinations()."
            )
            return
    any_links = sum(1 for _, element in walk(tree.body) if element.link is Link.FOLLOWED_BY_ANY)
    if any_links > 1:
        yield (
            f"{any_links} links are followed_by_any: the number of matches grows with the power of {any_links} of the "
            "events they could take. Keep the window short, or choose a skip strategy."
        )


def _any_start(tree: PatternTree) -> Iterator[str]:
    first = next(variables(tree.body), None)
    if first is not None and first[2].condition is None:
        yield f"The first element {first[2].name!r} has no condition: every event starts a partial match."


def _texts_as_numbers(automaton: Automaton) -> Iterator[str]:
    """Columns of strings that are compared or computed with as something else, as happens with CSV files."""
    told = set()
    for predicate in automaton.predicates:
        for node in nodes(predicate.expression):
            if not isinstance(node, Cast) or not node.implicit or isinstance(node.operand, Literal):
                continue
            if node.operand.type.kind is Kind.STRING and (str(node.operand), node.type) not in told:
                told.add((str(node.operand), node.type))
                yield (
                    f"{predicate.place.capitalize()}: `{node.operand}` is a string and is read as a {node.type}: a "
                    f"value that is not one ends the job with an error. Does the column have the right type?"
                )
