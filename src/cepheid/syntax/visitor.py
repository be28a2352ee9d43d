"""What differs by the kind of an element, in one class per question: a visitor.

Derive from `PartVisitor` and say what to do with a variable, a group, a `one_of`, an `all_of` and a not; `visit` calls
the right one. A new kind of body is a new abstract method here, so that a type checker names every place that has to
learn about it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from cepheid.syntax.tree import AllOfMembers, Element, Not, OneOf, Sequence, Variable

_Answer = TypeVar("_Answer")


class PartVisitor(ABC, Generic[_Answer]):
    """A question that each kind of element answers in its own way."""

    def visit(self, part: Element | Not) -> _Answer:
        """The answer for one element or not."""
        if isinstance(part, Not):
            return self.negation(part)
        match part.body:
            case Variable() as variable:
                return self.variable(part, variable)
            case Sequence() as sequence:
                return self.group(part, sequence)
            case OneOf() as one_of:
                return self.one_of(part, one_of)
            case AllOfMembers() as all_of:
                return self.all_of(part, all_of)

    @abstractmethod
    def variable(self, element: Element, body: Variable) -> _Answer:
        """For a single or a loop."""

    @abstractmethod
    def group(self, element: Element, body: Sequence) -> _Answer:
        """For a group."""

    @abstractmethod
    def one_of(self, element: Element, body: OneOf) -> _Answer:
        """For a `one_of` (rule 13)."""

    @abstractmethod
    def all_of(self, element: Element, body: AllOfMembers) -> _Answer:
        """For an `all_of` (rule 14)."""

    @abstractmethod
    def negation(self, negation: Not) -> _Answer:
        """For a not."""
