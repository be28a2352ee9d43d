"""What a pattern is by itself: checked, bound, written, read, explained and drawn. No events are needed for it."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from html import escape
from typing import TYPE_CHECKING, Literal, Self

from cepheid.errors import CepheidError, InputError
from cepheid.syntax.builder import PatternBuilder
from cepheid.syntax.parameters import parameters
from cepheid.syntax.tree import Condition, ParameterValue, SqlText
from cepheid.syntax.validation import check

if TYPE_CHECKING:
    from cepheid.automaton.model import Automaton
    from cepheid.explain import Diagram, Explanation


class PatternForms(PatternBuilder):
    """A pattern with all forms that it can take."""

    __slots__ = ()

    def bind(self, **values: ParameterValue) -> Self:
        """Give values to the parameters of conditions and measures, written `:name`. A value never becomes part of
        the SQL.

        >>> from cepheid import Pattern
        >>> large = Pattern.begin("a").where("amount > :limit")
        >>> print(large.bind(limit=100))
        a[amount > :limit] with limit = 100
        """
        from cepheid.conditions.parameters import parameters_of

        known = parameters_of(self.tree)
        for name in values:
            if name not in known and get_close_matches(name, known):  # else a measure may have it
                written = ", ".join(f":{one}" for one in known)
                raise InputError(f"bind() has {name!r}, but no condition has :{name}.\n  There are: {written}.")
        bound = parameters({**dict(self.tree.parameters), **values})
        return type(self)(replace(self.tree, parameters=bound)).check()

    def check(self) -> Self:
        """Raise a `MalformedPatternError` if the pattern is malformed. Every use of a pattern does this first."""
        from cepheid.conditions import bind

        check(self.tree)
        bind(self.tree, None)
        return self

    def automaton(self) -> Automaton:
        """The automaton of the pattern; print it to read it. Windows that are durations are in microseconds."""
        from cepheid.automaton.construction import build
        from cepheid.conditions import bind

        check(self.tree)
        return build(self.tree, bind(self.tree, None))

    def explain(self) -> Explanation:
        """Explain what the pattern means and how it runs. Print it; a notebook displays it.

        Shows the elements, which part of each condition Spark evaluates and which part a run evaluates, the automaton,
        which runs are kept and why, what limits the state of a stream, and warnings.
        """
        from cepheid.explain import explain

        self.check()
        return explain(self.tree)

    def diagram(
        self,
        format: Literal["svg", "mermaid", "dot", "text"] = "svg",
        *,
        of: Literal["pattern", "automaton"] = "pattern",
    ) -> Diagram:
        """Draw the pattern. A notebook displays it, `str` is the drawing, `save(path)` writes it.

        `of="automaton"` draws states and transitions instead (all formats except SVG).
        """
        from cepheid.explain import draw

        self.check()
        return draw(self.tree, format, of)

    def _repr_html_(self) -> str | None:
        """A notebook draws the pattern; one that is not complete yet, or malformed, is shown as text."""
        try:
            return self.diagram()._repr_html_()
        except CepheidError as error:
            return f"<pre>{escape(str(self))}\n{escape(str(error))}</pre>"

    def to_json(self) -> str:
        """The whole pattern as JSON. Callables and Spark Columns cannot be written."""
        from cepheid.syntax.json_format import to_json

        self.check()
        return to_json(self.tree)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The pattern that `to_json` wrote."""
        from cepheid.syntax.json_format import from_json

        if not isinstance(text, str):
            raise InputError(f"from_json() was given a {type(text).__name__}.\n  Give text, as to_json() writes it.")
        return cls(from_json(text)).check()

    @classmethod
    def parse(cls, text: str, *, type_column: str | None = None) -> Self:
        """Read a pattern from text: the notation that `print(pattern)` writes, or SASE text.

        SASE text begins with EVENT; `type_column` holds the types of its events (`type` if not given).

        >>> from cepheid import Pattern
        >>> rise = Pattern.parse("low ~> high[price > 2 * low.price] within 10 minutes, skip past last event")
        >>> rise == Pattern.parse(str(rise))
        True
        >>> print(Pattern.parse("EVENT SEQ(SHELF x, !(COUNTER y), EXIT z) WITHIN 12 hours", type_column="reader"))
        x[reader = 'SHELF'] ~> !y[reader = 'COUNTER'] ~>> z[reader = 'EXIT'] within 12 hours
        """
        from cepheid import notation, sase

        if sase.is_sase(text):
            return cls(sase.read(text, type_column))
        if type_column is not None:
            raise InputError("type_column is for SASE text, which begins with EVENT.\n  Leave it out.")
        return cls(notation.read(text))

    def to_sase(self, *, type_column: str | None = None) -> str:
        """Write the pattern as SASE text, which `parse` reads; what SASE cannot express is refused.

        If you give `type_column`, `parse` needs the same one. Otherwise the text names the column unless it is `type`.

        >>> from cepheid import Pattern
        >>> pattern = Pattern.begin("a").where("kind = 'A'").followed_by_any("b").where("kind = 'B'", "n > a.n")
        >>> print(pattern.to_sase())
        EVENT SEQ(A a, B b)
        TYPED BY kind
        WHERE b.n > a.n
        """
        from cepheid.sase import write

        self.check()
        if type_column is not None and (not isinstance(type_column, str) or not type_column):
            raise InputError(f'type_column is {type_column!r}.\n  Give the name of a column: type_column="reader".')
        return write(self.tree, type_column)

    def _check_condition(self, condition: Condition, element_description: str) -> None:
        from cepheid.conditions import check_text

        if isinstance(condition, SqlText):
            check_text(condition.text, element_description)
