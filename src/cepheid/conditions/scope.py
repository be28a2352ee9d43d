"""What a condition at one place of a pattern can read.

Made by `binding`, read by `checking`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cepheid.conditions.types import UNKNOWN, DataType, Schema


@dataclass(frozen=True, slots=True)
class FoldName:
    """A fold that can be read by its bare name."""

    variable: str
    name: str
    type: DataType = UNKNOWN


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that mean something at one place."""

    place: str
    """How an error calls the place."""
    schema: Schema | None
    all_variables: tuple[str, ...]
    """Every name of the pattern, negations included, so that a wrong one can be told from an unknown one."""
    visible: tuple[str, ...]
    nots: frozenset[str]
    own: str | None = None
    """The variable of the element itself; outside an aggregate its name could mean two things."""
    folds: tuple[FoldName, ...] = ()
    later_folds: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    """Variables of other alternatives of a `one_of`, which no match takes together with this one (rule 13)."""
    has_event: bool = True
    """Whether there is a current event; `having` has none and reads variables alone (rule 15)."""

    def variable(self, name: str) -> str | None:
        """The variable as the pattern spells it, found without regard to case; None if there is none."""
        if name in self.all_variables:
            return name
        folded = name.casefold()
        return next((variable for variable in self.all_variables if variable.casefold() == folded), None)

    def fold(self, name: str) -> FoldName | None:
        folded = name.casefold()
        return next((fold for fold in self.folds if fold.name.casefold() == folded), None)

    def is_later_fold(self, name: str) -> bool:
        return name.casefold() in (fold.casefold() for fold in self.later_folds)

    @property
    def fold_names(self) -> tuple[str, ...]:
        return tuple(fold.name for fold in self.folds)

    def of_event_alone(self, variable: str) -> Scope:
        """The scope of an aggregate's argument: the columns of one event of a variable, no variables, no folds."""
        schema = None if self.schema is None else self.schema.of_element(variable)
        return replace(
            self,
            schema=schema,
            all_variables=(),
            visible=(),
            nots=frozenset(),
            own=None,
            folds=(),
            later_folds=(),
            has_event=True,
        )
