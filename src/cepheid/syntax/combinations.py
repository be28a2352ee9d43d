"""`one_of` and `all_of`: bodies that may be given wherever a group may (rules 13 and 14).

Names and patterns come in; the body of an element goes out, which `begin`, `next`, `followed_by` and `followed_by_any`
take.
"""

from __future__ import annotations

from cepheid.errors import MalformedPatternError
from cepheid.syntax import edits
from cepheid.syntax.builder import Part, PatternBuilder
from cepheid.syntax.tree import AllOfMembers, Element, Link, OneOf, Variable


def one_of(*alternatives: Part) -> OneOf:
    """Exactly one of the alternatives is taken, in each iteration anew (rule 13).

    >>> from cepheid import Pattern, one_of
    >>> print(Pattern.begin("a").followed_by(one_of("b", Pattern.begin("c").times(2))))
    a ~> (b | c{2})
    """
    return OneOf(tuple(_part(given, "one_of") for given in alternatives))


def all_of(*members: Part, at_least: int | None = None) -> AllOfMembers:
    """The members are taken in any order, each once: all of them, or `at_least` so many (rule 14).

    >>> from cepheid import Pattern, all_of
    >>> print(Pattern.begin(all_of("a", "b", "c", at_least=2)).followed_by("d"))
    (a & b & c)<at least 2> ~> d
    """
    parts = tuple(_part(given, "all_of") for given in members)
    return AllOfMembers(parts, len(parts) if at_least is None else edits.whole_number(at_least, "at_least", "all_of"))


def _part(given: Part, step: str) -> Element:
    """One alternative or member: a single element as it is, several as a group."""
    if isinstance(given, OneOf | AllOfMembers):
        return Element(Link.BEGIN, given)
    if isinstance(given, str):
        return Element(Link.BEGIN, Variable(given))
    if not isinstance(given, PatternBuilder):
        raise MalformedPatternError(
            f"{step}(…)", f"it was given {given!r}", 'Give names, or patterns such as Pattern.begin("a").where(…).'
        )
    sequence = edits.group_of(given.tree)
    first = sequence.elements[0]
    if len(sequence.elements) == 1 and isinstance(first, Element):
        return first
    return Element(Link.BEGIN, sequence)
