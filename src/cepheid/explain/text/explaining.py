"""What a pattern means and how it is run, put together.

In: a checked tree, its automaton, the plan that runs it if there is one. Out: an `Explanation`. Called by the face,
the Spark plans and the command line.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

from cepheid.automaton.construction import build
from cepheid.automaton.dropping import why_all_rows_travel
from cepheid.automaton.model import Automaton
from cepheid.conditions import Predicate, Schema, bind
from cepheid.conditions.binding import BoundConditions
from cepheid.conditions.expression import TRUE
from cepheid.engine.tables import compact
from cepheid.engine.tables.model import Options, Tables
from cepheid.engine.tables.representation import NotCompiled
from cepheid.engine.tables.tabulate import tabulate
from cepheid.explain.text.advice import advice
from cepheid.explain.text.document import Explanation, Record, Section
from cepheid.explain.text.execution import Execution, rows_that_travel
from cepheid.explain.text.outline import outline
from cepheid.explain.text.strategy import Strategy, strategy
from cepheid.syntax.notation import to_text
from cepheid.syntax.tree import AllOfMembers, Element, PatternTree, Variable, describe, walk

ANY_EVENT = "nothing: any event"


def explain(
    tree: PatternTree,
    schema: Schema | None = None,
    execution: Execution | None = None,
    options: Options | None = None,
) -> Explanation:
    """Explain a checked pattern; with a `schema` types are known, with an `execution` also how it runs."""
    options = options or Options()
    conditions = bind(tree, schema)
    automaton = build(tree, conditions)
    tables, not_compiled = _tables(automaton, options, typed=schema is not None)
    chosen = strategy(tree, automaton, options)
    warnings = [*advice(tree, automaton, chosen, not_compiled), *(execution.warnings if execution else ())]
    sections = [
        Section("Pattern", lines=outline(tree)),
        Section("Conditions", records=tuple(_conditions(tree, conditions))),
        *_remembered(automaton, tables),
        Section("Automaton", lines=tuple(str(automaton).splitlines())),
        *_all_of(tree),
        _strategy(chosen, not_compiled),
        *_kept(automaton, tables, options, not_compiled),
        Section("State on a stream", (f"{_capital(chosen.bound or 'without limit: nothing bounds it')}.",)),
        _rows(automaton) if execution is None else Section("Execution", records=(Record("", execution.facts()),)),
    ]
    if warnings:
        sections.append(Section("Warnings", tuple(warnings), warns=True))
    return Explanation(to_text(tree), tuple(sections))


def _tables(automaton: Automaton, options: Options, typed: bool) -> tuple[Tables | None, str | None]:
    """The engine's tables, or why it cannot run the pattern; without types conditions over variables may have to
    wait."""
    try:
        return tabulate(automaton, options), None
    except NotCompiled as reason:
        calls = any(predicate.calls_python for predicate in automaton.predicates)
        waits_for_types = not typed and bool(automaton.registers.registers) and not calls
        return None, None if waits_for_types else str(reason)


def _conditions(tree: PatternTree, conditions: BoundConditions) -> Iterator[Record]:
    """Every condition, split into what Spark evaluates on the event alone and what the run evaluates."""
    for before in tree.not_before:
        yield Record(f"not before {before.name}", _split(conditions.where[before.name]))
    for path, element in walk(tree.body):
        if not isinstance(element, Element):
            yield Record(f"not {element.name}", _split(conditions.where[element.name]))
            continue
        if isinstance(element.body, Variable):
            name = element.body.name
            yield Record(name, _split(conditions.where[name]))
        else:
            name = describe(element)
        if path in conditions.until:
            yield Record(f"until of {name}", _split(conditions.until[path]))
        if path in conditions.having:
            yield Record(f"having of {name}", _split(conditions.having[path]))


def _split(predicate: Predicate) -> tuple[tuple[str, str], ...]:
    facts = []
    if predicate.own_event != TRUE:
        facts.append(("Spark", str(predicate.own_event)))
    if predicate.rest is not None:
        facts.append(("the run", str(predicate.rest)))
    return tuple(facts) or (("Spark", ANY_EVENT),)


def _remembered(automaton: Automaton, tables: Tables | None) -> Iterator[Section]:
    """What a run carries along, and which values of the event it compares with that."""
    if not automaton.registers.registers:
        return
    lines = tuple(str(automaton.registers).splitlines())
    compared = [str(expression) for expression in tables.columns] if tables else []
    sentences = (f"Compared with, computed by Spark for each event: {', '.join(compared)}.",) if compared else ()
    yield Section("What a run remembers", sentences, lines)


def _all_of(tree: PatternTree) -> Iterator[Section]:
    """What an `all_of` costs: which members are taken is a state of its own."""
    lines = []
    for _, element in walk(tree.body):
        if isinstance(element, Element) and isinstance(element.body, AllOfMembers):
            members, wanted = len(element.body.members), element.body.at_least
            sets = sum(comb(members, taken) for taken in range(wanted))
            names = ", ".join(describe(member) for member in element.body.members)
            lines.append(
                f"Any order of {names}: {sets:,} sets of members may have been taken before the last one, and each is "
                "a state of the automaton. A further member doubles them; an event costs the members still open."
            )
    if lines:
        yield Section("All of", tuple(lines))


def _strategy(chosen: Strategy, not_compiled: str | None) -> Section:
    if not_compiled is not None:
        return Section("Strategy", (f"All runs, by the slow evaluator: the pattern has {not_compiled}.",))
    return Section("Strategy", tuple(f"{_capital(text)}." for text in (chosen.memory.value, *chosen.reasons)))


def _kept(automaton: Automaton, tables: Tables | None, options: Options, not_compiled: str | None) -> Iterator[Section]:
    """Whether partial matches share what is kept of them; without types it is not known which wait for an equality."""
    if not_compiled is None:
        decision = tables.compact if tables else compact.decide(automaton, options.timeouts, options.compact)
        how = (
            "those with the same future are kept as one, whatever their number, except where timeouts are asked for"
            if decision.is_compact
            else f"each is kept by itself: {decision.reason}"
        )
        yield Section("Partial matches", (f"{_capital(how)}.",))


def _rows(automaton: Automaton) -> Section:
    return Section("Rows", (f"{_capital(rows_that_travel(why_all_rows_travel(automaton)))}.",))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
