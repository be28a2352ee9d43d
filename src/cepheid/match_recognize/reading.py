"""The text of a MATCH_RECOGNIZE clause → `RowPattern`.

In: a text, and where in it the clause is. Out: the row pattern, names of variables resolved, or an error that shows
the place (rule 7.1). What needs the columns of the input is checked by `rowpattern.binding`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import cache

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedInput

from cepheid.conditions import literals
from cepheid.conditions.carets import Span, did_you_mean
from cepheid.conditions.expression import Expression, Name
from cepheid.conditions.source import Range, Source
from cepheid.errors import ConditionError
from cepheid.match_recognize.complaints import complaint
from cepheid.match_recognize.expressions import read_expression
from cepheid.match_recognize.structure import pattern_of
from cepheid.match_recognize.words import folded, unquoted
from cepheid.rowpattern.binding import CALLED, located
from cepheid.rowpattern.model import (
    Define,
    Exclusion,
    Measure,
    RowPattern,
    RowsPerMatch,
    Skip,
    SkipTo,
    Sort,
    Subset,
    walk,
)

_ALL_ROWS = {
    "SHOW_EMPTY": RowsPerMatch.ALL_SHOW_EMPTY,
    "OMIT_EMPTY": RowsPerMatch.ALL_OMIT_EMPTY,
    "WITH_UNMATCHED": RowsPerMatch.ALL_WITH_UNMATCHED,
}


@cache
def _grammar() -> Lark:
    return Lark.open_from_package(
        "cepheid.match_recognize",
        "grammar.lark",
        start="clause",
        parser="lalr",
        propagate_positions=True,
        maybe_placeholders=False,
    )


def read(text: str, start: int = 0, end: int | None = None) -> RowPattern:
    """The row pattern of the clause at `start` to `end` of the text."""
    source = Source(text, CALLED)
    end = len(text) if end is None else end
    try:
        tree = _grammar().parse(text[start:end])
    except UnexpectedInput as error:
        raise complaint(source, start, end, error) from None
    return _Parts(source, start, tree).row_pattern()


class _Parts:
    """Reads the parts of one clause."""

    def __init__(self, source: Source, base: int, tree: Tree[Token]) -> None:
        self._source = source
        self._base = base
        self._parts = {str(part.data): part for part in tree.children if isinstance(part, Tree)}

    def row_pattern(self) -> RowPattern:
        pattern = pattern_of(self._source, self._base, self._trees("pattern")[0])
        primary = RowPattern(pattern).variables
        self._refuse_same_by_case(primary)
        subsets = self._subsets(primary)
        names = (*primary, *(subset.name for subset in subsets))
        rows = self._rows()
        if rows is RowsPerMatch.ALL_WITH_UNMATCHED and any(isinstance(node, Exclusion) for node in walk(pattern)):
            raise self._source.error(
                self._range(self._parts["rows"]),
                "WITH UNMATCHED ROWS cannot be combined with an exclusion {- … -} in the pattern",
                "Leave one of the two out: a row could be both excluded and unmatched.",
            )
        measures = tuple(self._measure(tree) for tree in self._trees("measures"))
        partition_by = tuple(self._column(token) for token in self._tokens("partition", "WORD", "QUOTED"))
        if rows is RowsPerMatch.ONE and not measures and not partition_by:
            raise self._source.error(
                self._range(self._parts["pattern"]),
                "the result has no columns",
                "Add MEASURES or PARTITION BY, or write ALL ROWS PER MATCH.",
            )
        return RowPattern(
            pattern,
            partition_by,
            tuple(self._sort(tree) for tree in self._trees("order")),
            measures,
            rows,
            self._skip(names),
            self._within(),
            subsets,
            self._defines(primary, subsets),
        )

    # ── columns, measures, rows ──────────────────────────────────────────────────────────────────────────────────────

    def _column(self, token: Token) -> Name:
        place = self._range(token)
        return Name((unquoted(token),), span=Span(self._source.text, place.start, place.end))

    def _sort(self, tree: Tree[Token]) -> Sort:
        column, *words = tree.children
        assert isinstance(column, Token)
        kinds = [_kind(word) for word in words]
        descending = "DESC" in kinds
        nulls_first = "NULLS_FIRST" in kinds or ("NULLS_LAST" not in kinds and not descending)
        return Sort(self._column(column), descending, nulls_first)

    def _measure(self, tree: Tree[Token]) -> Measure:
        expression, *_, name = tree.children
        return Measure(unquoted(str(name)), self._expression(expression))

    def _expression(self, tree: Token | Tree[Token]) -> Expression:
        place = self._range(tree)
        try:
            return read_expression(self._source.text, place)
        except ConditionError as error:
            raise located(error) from None

    def _rows(self) -> RowsPerMatch:
        tree = self._parts.get("rows")
        if tree is None:
            return RowsPerMatch.ONE
        first, *rest = tree.children
        assert isinstance(first, Token)
        empty = next((part.children[0] for part in rest if isinstance(part, Tree)), None)
        if first.type == "ALL_ROWS":
            return RowsPerMatch.ALL_SHOW_EMPTY if empty is None else _ALL_ROWS[_kind(empty)]
        if empty is not None:
            raise self._source.error(
                self._range(empty),
                f"{' '.join(str(empty).upper().split())} says nothing with ONE ROW PER MATCH",
                "Write ALL ROWS PER MATCH, or leave it out.",
            )
        return RowsPerMatch.ONE

    # ── names of variables ───────────────────────────────────────────────────────────────────────────────────────────

    def _refuse_same_by_case(self, primary: tuple[str, ...]) -> None:
        seen: dict[str, str] = {}
        for name in primary:
            other = seen.setdefault(name.casefold(), name)
            if other != name:
                raise self._source.error(
                    self._range(self._parts["pattern"]),
                    f"the variables {other} and {name} differ only by case",
                    "Rename one of them: names are compared without regard to case.",
                )

    def _known(self, token: Token, names: Iterable[str], problem: str) -> str:
        """The variable as the pattern spells it."""
        name = folded(token)
        found = next((each for each in names if each.casefold() == name.casefold()), None)
        if found is None:
            near = did_you_mean(name, names)
            remedy = f"{near[:1].upper()}{near[1:]}" if near else f"The variables are {', '.join(names)}."
            raise self._source.error(self._range(token), f"{name} {problem}", remedy)
        return found

    def _skip(self, names: tuple[str, ...]) -> Skip:
        tree = self._parts.get("skip")
        if tree is None:
            return Skip()
        words = [word for word in tree.children if isinstance(word, Token)]
        kinds = [word.type for word in words]
        if "PAST_LAST_ROW" in kinds:
            return Skip()
        if "TO_NEXT_ROW" in kinds:
            return Skip(SkipTo.NEXT_ROW)
        # rule 1.2: SKIP TO v means SKIP TO LAST v
        to = SkipTo.FIRST if "TO_FIRST" in kinds else SkipTo.LAST
        return Skip(to, self._known(words[-1], names, "is not a variable of the pattern"))

    def _subsets(self, primary: tuple[str, ...]) -> tuple[Subset, ...]:
        subsets: list[Subset] = []
        for tree in self._trees("subsets"):
            name_token, *members = [token for token in tree.children if _kind(token) in ("WORD", "QUOTED")]
            assert isinstance(name_token, Token)
            name = folded(name_token)
            taken = {each.casefold() for each in (*primary, *(subset.name for subset in subsets))}
            if name.casefold() in taken:
                remedy = "Give the union variable a name that the pattern does not use."
                raise self._source.error(self._range(name_token), f"{name} is already a variable", remedy)
            problem = "is not a variable of the pattern itself; a union consists of variables that occur in PATTERN"
            found = tuple(self._known(token, primary, problem) for token in members if isinstance(token, Token))
            subsets.append(Subset(name, tuple(dict.fromkeys(found))))
        return tuple(subsets)

    def _defines(self, primary: tuple[str, ...], subsets: tuple[Subset, ...]) -> tuple[Define, ...]:
        defines: list[Define] = []
        for tree in self._trees("defines"):
            token, _, expression = tree.children
            assert isinstance(token, Token)
            if folded(token).casefold() in {subset.name.casefold() for subset in subsets}:
                remedy = "Define its members instead."
                raise self._source.error(self._range(token), f"{folded(token)} is a union variable", remedy)
            name = self._known(token, primary, "does not occur in PATTERN")
            if any(define.variable == name for define in defines):
                raise self._source.error(self._range(token), f"{name} is defined twice", "Join both with AND or OR.")
            defines.append(Define(name, self._expression(expression)))
        return tuple(defines)

    # ── WITHIN ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _within(self) -> timedelta | None:
        tree = self._parts.get("within")
        if tree is None:
            return None
        _, _, amount, *units = [token for token in tree.children if _kind(token) != "TO"]
        try:
            number = literals.string(str(amount)) if _kind(amount) == "STRING" else str(amount)
            span: timedelta = literals.interval(number, *map(str, units)).value
        except ValueError as error:
            raise self._source.error(self._range(tree), str(error), "Write INTERVAL '1' HOUR.") from None
        if span <= timedelta(0):
            problem = "a match cannot be shorter than no time"
            raise self._source.error(self._range(tree), problem, "Give an interval above zero.")
        return span

    # ── the tree ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _trees(self, part: str) -> list[Tree[Token]]:
        tree = self._parts.get(part)
        return [] if tree is None else [child for child in tree.children if isinstance(child, Tree)]

    def _tokens(self, part: str, *kinds: str) -> list[Token]:
        tree = self._parts.get(part)
        return [] if tree is None else [t for t in tree.children if isinstance(t, Token) and t.type in kinds]

    def _range(self, part: Token | Tree[Token]) -> Range:
        return range_of(part, self._base)


def range_of(part: Token | Tree[Token], base: int) -> Range:
    """The characters of a part, in the whole text."""
    if isinstance(part, Token):
        return Range(base + (part.start_pos or 0), base + (part.end_pos or 0))
    return Range(base + part.meta.start_pos, base + part.meta.end_pos)


def _kind(part: Token | Tree[Token]) -> str:
    return part.type if isinstance(part, Token) else str(part.data)
