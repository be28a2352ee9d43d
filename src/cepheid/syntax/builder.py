"""The fluent, immutable pattern builder: method calls come in, a `PatternTree` goes out.

`cepheid.Pattern` derives from `PatternBuilder` and adds what can be done with a pattern. The tree is the whole state; a
modifier applies to the element added last. What no later step could repair is refused at once (`edits`). Whoever uses
the finished pattern calls `validation.check`, which has the rules about a whole pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from types import FunctionType, MethodType
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Self, TypeAlias, TypeVar

from cepheid.errors import MalformedPatternError
from cepheid.syntax import edits, notation
from cepheid.syntax.combining import GivenCondition, conjunction, disjunction, from_given
from cepheid.syntax.durations import Duration
from cepheid.syntax.edits import GapBounds
from cepheid.syntax.tree import (
    AllOfMembers,
    Body,
    Condition,
    Contiguity,
    Element,
    Fold,
    Link,
    Not,
    NotLink,
    OneOf,
    PatternTree,
    Sequence,
    Skip,
    SkipKind,
    Variable,
)
from cepheid.syntax.windows import PATTERN

Part: TypeAlias = "str | PatternBuilder | OneOf | AllOfMembers"
"""What an element is made of: the name of a variable, a group, or what `one_of` and `all_of` give."""

_NOTHING_YET = PatternTree(Sequence(()))

_SKIPS_BY_NAME = {kind.value: Skip(kind) for kind in (SkipKind.NO_SKIP, SkipKind.TO_NEXT, SkipKind.PAST_LAST_EVENT)}

_P = ParamSpec("_P")
_Builder = TypeVar("_Builder", bound="PatternBuilder")


class _Opening(Generic[_P]):
    """A method that opens a new pattern when called on the class, and continues the pattern when called on an instance.

    A class method would silently forget its instance.
    """

    def __init__(self, method: Callable[Concatenate[Any, _P], Any]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: _Builder | None, owner: type[_Builder]) -> Callable[_P, _Builder]:
        return MethodType(self._method, owner() if instance is None else instance)


def _needs_a_pattern(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step, refused where it is called on the class: `Pattern.where("x")` has no pattern to go on with."""

    @wraps(step)
    def checked(*arguments: Any, **named: Any) -> Any:
        if not arguments or not isinstance(arguments[0], PatternBuilder):
            raise MalformedPatternError(
                f"{step.__name__}(…)",
                "it is called on the class, where there is no pattern yet",
                f'Begin one first: Pattern.begin("a").{step.__name__}(…).',
            )
        return step(*arguments, **named)

    return checked


def _checking_steps(builder: type[_Builder]) -> type[_Builder]:
    for name, step in list(vars(builder).items()):
        if isinstance(step, FunctionType) and not name.startswith("_"):
            setattr(builder, name, _needs_a_pattern(step))
    return builder


@_checking_steps
@dataclass(frozen=True, slots=True, repr=False)
class PatternBuilder:
    """A pattern, finished or in progress. Every method returns a new one.

    >>> PatternBuilder.begin("a").where("price > 10").followed_by("b").one_or_more().within("10 minutes")
    PatternBuilder.begin("a").where("price > 10").followed_by("b").one_or_more().within("10 minutes")
    """

    tree: PatternTree = _NOTHING_YET

    def __post_init__(self) -> None:
        if not isinstance(self.tree, PatternTree):
            raise MalformedPatternError(
                "the pattern", f"{self.tree!r} is not a pattern", f"Begin one with {type(self).__name__}.begin('name')."
            )

    @classmethod
    def from_tree(cls, tree: PatternTree) -> Self:
        """The builder with this tree."""
        return cls(tree)

    def __repr__(self) -> str:
        return notation.to_python(self.tree, type(self).__name__)

    def __str__(self) -> str:
        return notation.to_text(self.tree)

    @_Opening
    def begin(self, part: Part) -> Self:
        """Start the pattern with an element or a group."""
        return self._add_element(Link.BEGIN, part)

    def next(self, part: Part) -> Self:
        """Strict link: the element or group takes the very next event."""
        return self._add_element(Link.NEXT, part)

    def followed_by(self, part: Part) -> Self:
        """Relaxed link: the element or group takes the first later event that satisfies its condition."""
        return self._add_element(Link.FOLLOWED_BY, part)

    def followed_by_any(self, part: Part) -> Self:
        """Any link: the element or group takes any later event that satisfies its condition, each in its own match."""
        return self._add_element(Link.FOLLOWED_BY_ANY, part)

    def not_next(self, name: str) -> Self:
        """Negation: the very next event must not satisfy the conditions that follow (rule 7)."""
        return self._add_not(NotLink.NOT_NEXT, name)

    def not_followed_by(self, name: str) -> Self:
        """Negation: no event before the next taken one may satisfy the conditions that follow (rule 7)."""
        return self._add_not(NotLink.NOT_FOLLOWED_BY, name)

    @_Opening
    def not_before(self, name: str) -> Self:
        """Negation: no event before the match, within the window, may satisfy the conditions that follow (rule 7)."""
        return self._with(edits.add_not_before(self.tree, _name(name, "not_before")))

    def where(self, *conditions: GivenCondition) -> Self:
        """Add conditions that the event must satisfy, together with those given before."""
        new = self._given(conditions, edits.condition_owner(self.tree, "where"), "where")
        return self._with(edits.change_condition(self.tree, lambda old: conjunction((old, new)) if old else new))

    def or_where(self, *conditions: GivenCondition) -> Self:
        """Add an alternative to all conditions given before."""
        new = self._given(conditions, edits.condition_owner(self.tree, "or_where"), "or_where")
        return self._with(edits.change_condition(self.tree, lambda old: disjunction((old, new)) if old else new))

    def having(self, *conditions: GivenCondition) -> Self:
        """Leave the loop, looped group or all_of only when these conditions on what it took hold (rule 15)."""
        having = self._given(conditions, edits.having_owner(self.tree), "having")
        return self._with(edits.set_having(self.tree, having))

    def until(self, *conditions: GivenCondition) -> Self:
        """Close an unbounded loop or group at the first event that satisfies these conditions (rule 4)."""
        until = self._given(conditions, edits.until_owner(self.tree), "until")
        return self._with(edits.set_until(self.tree, until))

    def fold(self, name: str, *, init: str, update: str) -> Self:
        """Define a value, read by name, that starts as `init` and becomes `update` with each event taken."""
        for part, text in (("init", init), ("update", update)):
            if not isinstance(text, str):
                raise MalformedPatternError(
                    f"fold {name!r}", f"its {part} is {text!r}", 'Give SQL text: init="0", update="z + price".'
                )
        return self._with(edits.add_fold(self.tree, Fold(_name(name, "fold"), init, update)))

    def times(self, least: int, most: int | None = None, *, within: GapBounds | None = None) -> Self:
        """Repeat `least` times, or `least` to `most` times, with less than `within` between repetitions."""
        return self._with(edits.repeat(self.tree, "times", least, least if most is None else most, within))

    def times_or_more(self, least: int, *, within: GapBounds | None = None) -> Self:
        """Repeat at least `least` times, with less than `within` between repetitions."""
        return self._with(edits.repeat(self.tree, "times_or_more", least, None, within))

    def one_or_more(self, *, within: GapBounds | None = None) -> Self:
        """Repeat once or more, with less than `within` between repetitions."""
        return self._with(edits.repeat(self.tree, "one_or_more", 1, None, within))

    def optional(self) -> Self:
        """Allow the element or group to be omitted (rule 3)."""
        return self._with(edits.make_optional(self.tree))

    def greedy(self) -> Self:
        """Make the loop take every event that it can (rule 5)."""
        return self._with(edits.make_greedy(self.tree))

    def whole(self) -> Self:
        """Make the loop take every event that it can, also at the end of the pattern (rule 16)."""
        return self._with(edits.make_whole(self.tree))

    def consecutive(self) -> Self:
        """Strict inner link: repetitions, or the members of an all_of, follow each other directly."""
        return self._with(edits.set_inner(self.tree, "consecutive", Contiguity.STRICT))

    def allow_combinations(self) -> Self:
        """Any inner link: the loop may ignore events that it could take."""
        return self._with(edits.set_inner(self.tree, "allow_combinations", Contiguity.NON_DETERMINISTIC))

    def within(
        self,
        time: Duration | None = None,
        *,
        events: int | None = None,
        since: str | None = None,
    ) -> Self:
        """Limit the match to less than `time`, from its first event to its last, or to `events` consecutive events.

        With `since="previous"`: less than `time` from the event taken before to each event of the last element. With
        `since="v"`: less than `time` from the last event of variable v to each event of the last element (rule 17).
        """
        if (time is None) == (events is None):
            raise MalformedPatternError(
                PATTERN,
                f"within has {'neither' if time is None else 'both'} a length of time and a number of events",
                'Write within("10 minutes") or within(events=10).',
            )
        if since is None:
            return self._with(edits.set_window(self.tree, time, events))
        return self._with(edits.set_window_since(self.tree, time, _name(since, "within(…, since=…)")))

    def once_per(self, time: Duration) -> Self:
        """Report a match only if `time` or more has passed since the match reported before it (rule 19)."""
        return self._with(edits.set_once_per(self.tree, time))

    def partition_by(self, *columns: str) -> Self:
        """Set the columns whose values all events of a match share, so that `match` need not name them."""
        return self._with(edits.set_partition_by(self.tree, columns))

    def skip(self, strategy: Skip | Literal["no_skip", "to_next", "past_last_event"]) -> Self:
        """Choose which later matches an emitted match rules out (rule 8): a value of `cepheid.skip`, or its name."""
        chosen = _SKIPS_BY_NAME.get(strategy) if isinstance(strategy, str) else strategy
        if not isinstance(chosen, Skip):
            near = get_close_matches(str(strategy).lower().replace(" ", "_"), _SKIPS_BY_NAME, 1)
            raise MalformedPatternError(
                PATTERN,
                f"{strategy!r} is not a skip strategy",
                (f"Did you mean {near[0]!r}? " if near else "")
                + "Give skip.no_skip, skip.to_next, skip.past_last_event, skip.to_first(v) or skip.to_last(v); "
                "the first three also as text.",
            )
        return self._with(edits.set_skip(self.tree, chosen))

    def _check_condition(self, condition: Condition, element_description: str) -> None:
        """Called with every condition given, so that a derived class can refuse it early; here none is refused."""

    def _given(self, conditions: tuple[GivenCondition, ...], owner: str, step: str) -> Condition:
        if not conditions:
            raise MalformedPatternError(owner, f"{step} has no condition", f'Give one: {step}("price > 10").')
        parts = [from_given(given, owner) for given in conditions]
        for part in parts:
            self._check_condition(part, owner)
        return conjunction(parts)

    def _add_element(self, link: Link, part: Part) -> Self:
        if isinstance(part, PatternBuilder):
            body: Body = edits.group_of(part.tree)
        elif isinstance(part, OneOf | AllOfMembers):
            body = part
        else:
            body = Variable(_name(part, link.value, ", a group such as Pattern.begin(…), or one_of(…) or all_of(…)"))
        return self._with(edits.append(self.tree, Element(link, body), link.value))

    def _add_not(self, link: NotLink, name: str) -> Self:
        return self._with(edits.append(self.tree, Not(link, _name(name, link.value)), link.value))

    def _with(self, tree: PatternTree) -> Self:
        return type(self)(tree)


def _name(given: object, step: str, or_what: str = "") -> str:
    """A name as given; whether it can be one is decided by `part_rules`."""
    if isinstance(given, str):
        return given
    kind = "a group" if isinstance(given, PatternBuilder) else f"{given!r}"
    raise MalformedPatternError(f"{step}(…)", f"it was given {kind} for a name", f'Give a name such as "a"{or_what}.')
