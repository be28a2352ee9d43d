"""Which rules run on a checkpoint, and since when: what lets a set change while its state lives.

In: what the checkpoint keeps, and the rules of a start. Out: a `Registry` for that start, and the `Changes`. A rule
goes on if its fingerprint is the same: the pattern, its key and what its measures read of events; names of rules and
of variables, severity and tags may change. Everything else is a new instance, which begins with the events that come.

Conditions keep their numbers as long as a rule has them, since events that wait carry bits by these numbers. A number
that has become free may be given to another condition at once: events that came before carry the old meaning, but only
instances of their time look at them (see `bucket`).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from cepheid.errors import StateError
from cepheid.rule import AnyRule
from cepheid.spark.rules.texts import read

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Running:
    """An instance of a rule."""

    rule: str
    fingerprint: str
    instance: str
    since: int
    text: str = ""
    """The rule as it was last seen, so that it can go on while its source cannot be read; nothing if it has no text."""
    waits: bool = False
    """Whether it begins with a history that is brought to it (see `later`)."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What became of rules at a start, by their names."""

    kept: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.removed)

    def __str__(self) -> str:
        parts = [f"{len(self.kept)} go on"]
        for word in ("new", "changed", "removed"):
            names = getattr(self, word)
            if names:
                parts.append(f"{len(names)} {word} ({', '.join(names)})")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Registry:
    """The instances of a checkpoint's rules."""

    keys: tuple[tuple[str, ...], ...]
    """The keys that rules may have, in their order; fixed with the first start."""
    generation: int
    """Grows with every change; of several that a checkpoint keeps, the last one counts."""
    running: tuple[Running, ...]
    conditions: dict[str, int]
    """The bit of each condition, by its text."""
    brought: tuple[str, ...] = ()
    """The ids of the histories that were brought to rules which were added later."""

    @classmethod
    def empty(cls, keys: Iterable[tuple[str, ...]]) -> Registry:
        """Before the first start."""
        return cls(tuple(keys), 0, (), {})

    @classmethod
    def last(cls, kept: Iterable[str]) -> Registry | None:
        """The latest of those that a checkpoint keeps."""
        return max(map(cls.from_json, kept), key=lambda one: one.generation, default=None)

    def rules(self) -> list[AnyRule]:
        """The rules as they were last seen, those that have a text."""
        return [read(one.text) for one in self.running if one.text]

    def with_rules(
        self, fingerprints: dict[str, str], conditions: Sequence[str], texts: Mapping[str, str] | None = None
    ) -> tuple[Registry, Changes]:
        """The registry for a set of rules, given as fingerprints by name, the text of all conditions, and the rules
        themselves as texts."""
        generation = self.generation + 1
        free = list(self.running)
        matched: dict[str, Running] = {}
        for same_name in (True, False):
            for name, print_ in fingerprints.items():
                found = next(
                    (one for one in free if one.fingerprint == print_ and (not same_name or one.rule == name)), None
                )
                if name not in matched and found is not None:
                    matched[name] = found
                    free.remove(found)
        before = {one.rule for one in self.running}
        new = [name for name in fingerprints if name not in matched]
        changes = Changes(
            tuple(matched),
            tuple(name for name in new if name not in before),
            tuple(name for name in new if name in before),
            tuple(one.rule for one in free if one.rule not in fingerprints),
        )
        running = []
        for name, print_ in fingerprints.items():
            old = matched.get(name)
            text = (texts or {}).get(name, "")
            if old is None:
                running.append(Running(name, print_, uuid.uuid4().hex, generation, text))
            else:
                running.append(replace(old, rule=name, text=text))
        numbers = {text: self.conditions[text] for text in conditions if text in self.conditions}
        taken, following = set(numbers.values()), 0
        for text in conditions:
            if text not in numbers:
                while following in taken:
                    following += 1
                numbers[text] = following
                taken.add(following)
        if tuple(running) == self.running and numbers == self.conditions:
            return self, changes
        return replace(self, generation=generation, running=tuple(running), conditions=numbers), changes

    def with_history(self, name: str) -> Registry:
        """The registry in which the latest rules begin with the history of that id."""
        running = (replace(one, waits=True) if one.since == self.generation else one for one in self.running)
        return replace(self, running=tuple(running), brought=(*self.brought, name))

    def to_json(self) -> str:
        """The registry as one line of text."""
        return json.dumps({"format": FORMAT, **asdict(self)})

    @classmethod
    def from_json(cls, saved: str) -> Registry:
        """What `to_json` wrote."""
        try:
            known = json.loads(saved)
            if known["format"] != FORMAT:
                raise StateError(
                    f"the rules of the checkpoint have format {known['format']}, this version reads {FORMAT}.\n"
                    "  Use the version of Cepheid that wrote it, or start with a new checkpoint."
                )
            keys = tuple(tuple(key) for key in known["keys"])
            running = tuple(Running(**one) for one in known["running"])
            return cls(keys, known["generation"], running, known["conditions"], tuple(known.get("brought", ())))
        except (ValueError, TypeError, KeyError) as error:
            raise StateError(
                "what the checkpoint says of its rules is damaged.\n"
                "  Restore the checkpoint from a complete copy, or start with a new checkpoint."
            ) from error
