"""Row pattern → instructions with preference order (Thompson's construction).

In: a pattern. Out: a `Program`, which prints itself. One function for each node. A matcher runs it depth first, the
first way of a split first, and so meets labelled runs in the order of rule 3.3.

A loop whose body may be empty sets a flag when an iteration begins; taking a row clears all flags. An iteration that
ends with its flag still set has consumed nothing, and the loop ends there (rule 3.4). The iterations of the minimum are
written out before the loop, so they are free of that rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from enum import IntEnum

from cepheid.errors import LimitError
from cepheid.rowpattern.model import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    Node,
    PartitionEnd,
    PartitionStart,
    Permute,
    Quantified,
    Variable,
)

MAX_INSTRUCTIONS = 200_000
MAX_FLAGS = 62


class Code(IntEnum):
    """What an instruction does; `first` and `second` are its operands."""

    LABEL = 0
    """The row gets the label `first`; `second` is 1 inside an exclusion."""
    SPLIT = 1
    """Go on at `first`; if that fails at `second`."""
    JUMP = 2
    START = 3
    END = 4
    BEGIN_ITERATION = 5
    """Set the flag `first`."""
    END_ITERATION = 6
    """Go to `second` if the flag `first` is still set."""
    MATCH = 7


@dataclass(frozen=True, slots=True)
class Instruction:
    code: Code
    first: int = 0
    second: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """Instructions; labels are numbers of `variables`."""

    instructions: tuple[Instruction, ...]
    variables: tuple[str, ...]
    flags: int

    @property
    def needs_the_end(self) -> bool:
        """Whether every way to a match passes a `$`."""
        return not any(each.code is Code.MATCH for each in self.reached({Code.END, Code.MATCH}))

    def reached(self, ends: Set[Code]) -> Iterator[Instruction]:
        """The instructions that a match may come to before it has passed one of these codes, those that end it too."""
        seen, waiting = {0}, [0]
        while waiting:
            at = waiting.pop()
            each = self.instructions[at]
            yield each
            following: tuple[int, ...] = (at + 1,)
            if each.code in ends:
                following = ()
            elif each.code is Code.SPLIT:
                following = (each.first, each.second)
            elif each.code is Code.JUMP:
                following = (each.first,)
            elif each.code is Code.END_ITERATION:
                following = (at + 1, each.second)
            waiting += [place for place in following if place not in seen]
            seen.update(following)

    def __str__(self) -> str:
        return "\n".join(f"{at:>4}  {self._text(each)}" for at, each in enumerate(self.instructions))

    def _text(self, instruction: Instruction) -> str:
        match instruction.code:
            case Code.LABEL:
                excluded = " (excluded)" if instruction.second else ""
                return f"label {self.variables[instruction.first]}{excluded}"
            case Code.SPLIT:
                return f"split {instruction.first}, else {instruction.second}"
            case Code.JUMP:
                return f"jump {instruction.first}"
            case Code.START:
                return "first row of the partition"
            case Code.END:
                return "end of the partition"
            case Code.BEGIN_ITERATION:
                return f"begin iteration {instruction.first}"
            case Code.END_ITERATION:
                return f"end iteration {instruction.first}, if empty {instruction.second}"
        return "match"

    def joins(self) -> tuple[bool, ...]:
        """Where several ways lead: only there can the search come to a place and row a second time."""
        ways = [0] * len(self.instructions)
        ways[0] = 1
        for at, each in enumerate(self.instructions):
            if each.code is Code.SPLIT:
                ways[each.first] += 1
                ways[each.second] += 1
            elif each.code is Code.JUMP:
                ways[each.first] += 1
            elif each.code is not Code.MATCH:
                ways[at + 1] += 1
                if each.code is Code.END_ITERATION:
                    ways[each.second] += 1
        return tuple(count > 1 for count in ways)


def compile_pattern(pattern: Node, variables: tuple[str, ...]) -> Program:
    """The instructions of a pattern."""
    builder = _Builder({name: number for number, name in enumerate(variables)})
    builder.node(pattern)
    builder.emit(Code.MATCH)
    return Program(tuple(builder.code), variables, builder.flags)


def may_be_empty(node: Node) -> bool:
    """Whether a part can match no row."""
    match node:
        case Variable():
            return False
        case Concatenation(parts) | Permute(parts):
            return all(map(may_be_empty, parts))
        case Alternation(parts):
            return any(map(may_be_empty, parts))
        case Quantified(body, least, _, _):
            return least == 0 or may_be_empty(body)
        case Exclusion(body):
            return may_be_empty(body)
    return True


@dataclass(slots=True)
class _Builder:
    numbers: dict[str, int]
    code: list[Instruction] = field(default_factory=list)
    flags: int = 0
    excluding: int = 0

    def emit(self, code: Code, first: int = 0, second: int = 0) -> int:
        if len(self.code) >= MAX_INSTRUCTIONS:
            raise LimitError(
                f"the pattern becomes more than {MAX_INSTRUCTIONS:,} instructions.\n"
                "  Bounds and the parts of PERMUTE are written out: use smaller ones, or * and + instead."
            )
        self.code.append(Instruction(code, first, second))
        return len(self.code) - 1

    def here(self) -> int:
        return len(self.code)

    def node(self, node: Node) -> None:
        match node:
            case Variable(name):
                self.emit(Code.LABEL, self.numbers[name], int(self.excluding > 0))
            case Empty():
                pass
            case PartitionStart():
                self.emit(Code.START)
            case PartitionEnd():
                self.emit(Code.END)
            case Concatenation(parts):
                for part in parts:
                    self.node(part)
            case Alternation(parts):
                self.alternatives([(part,) for part in parts])
            case Permute(parts):
                self.permuted(parts)
            case Exclusion(body):
                self.excluding += 1
                self.node(body)
                self.excluding -= 1
            case Quantified():
                self.quantified(node)

    def alternatives(self, ways: list[tuple[Node, ...]]) -> None:
        """Each way is a sequence of parts; the first is preferred."""
        jumps = []
        for number, way in enumerate(ways):
            is_last = number == len(ways) - 1
            split = -1 if is_last else self.emit(Code.SPLIT)
            for part in way:
                self.node(part)
            if not is_last:
                jumps.append(self.emit(Code.JUMP))
                self.code[split] = Instruction(Code.SPLIT, split + 1, self.here())
        for jump in jumps:
            self.code[jump] = Instruction(Code.JUMP, self.here())

    def permuted(self, parts: tuple[Node, ...]) -> None:
        """All orders. Where each part has one run at most, orders that begin alike can share their beginning: the runs
        come in the same order as those of the whole alternation."""
        if len(parts) == 1:
            self.node(parts[0])
        elif all(map(_has_one_run, parts)):
            rests = [(part, (*parts[:n], *parts[n + 1 :])) for n, part in enumerate(parts)]
            self.alternatives([(part, Permute(rest)) for part, rest in rests])
        else:
            self.alternatives(_orders(parts))

    def quantified(self, node: Quantified) -> None:
        empties = may_be_empty(node.body)
        # The last iteration of the minimum is the body of an endless loop, unless rule 3.4 sets it apart.
        repeats = node.most is None and not empties and node.least > 0
        for _ in range(node.least - repeats):
            self.node(node.body)
        if repeats:
            begin = self.here()
            self.node(node.body)
            split = self.emit(Code.SPLIT)
            self.code[split] = self._split(begin, self.here(), node.greedy)
            return
        flag = self.flags
        if empties:
            self.flags += 1
            if self.flags > MAX_FLAGS:
                raise LimitError(
                    f"the pattern has more than {MAX_FLAGS} loops over parts that may be empty.\n"
                    "  Let the parts of loops take a row each: (A? B?)* is also (A | B)* or (A B?)*."
                )
        exits: list[tuple[int, Code]] = []
        begin = self.here()
        for _ in range(1 if node.most is None else node.most - node.least):
            exits.append((self.emit(Code.SPLIT), Code.SPLIT))
            if empties:
                self.emit(Code.BEGIN_ITERATION, flag)
            self.node(node.body)
            if empties:
                exits.append((self.emit(Code.END_ITERATION), Code.END_ITERATION))
        if node.most is None:
            self.emit(Code.JUMP, begin)
        for at, code in exits:
            is_split = code is Code.SPLIT
            end = self.here()
            self.code[at] = self._split(at + 1, end, node.greedy) if is_split else Instruction(code, flag, end)

    def _split(self, more: int, stop: int, greedy: bool) -> Instruction:
        return Instruction(Code.SPLIT, more, stop) if greedy else Instruction(Code.SPLIT, stop, more)


def _orders(parts: tuple[Node, ...]) -> list[tuple[Node, ...]]:
    from itertools import islice, permutations

    return list(islice(permutations(parts), MAX_INSTRUCTIONS))


def _has_one_run(node: Node) -> bool:
    match node:
        case Variable() | Empty() | PartitionStart() | PartitionEnd():
            return True
        case Concatenation(parts):
            return all(map(_has_one_run, parts))
        case Exclusion(body):
            return _has_one_run(body)
        case Quantified(body, least, most, _):
            return least == most and _has_one_run(body)
    return False
