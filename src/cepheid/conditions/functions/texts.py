"""Functions of strings."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cepheid.conditions import types
from cepheid.conditions.arrow.values import NotVectorized, Value, fixed
from cepheid.conditions.casting import cast
from cepheid.conditions.constants import constant_value
from cepheid.conditions.expression import Call
from cepheid.conditions.functions.definition import Arguments, Function, Typed, never, of_texts, plainly
from cepheid.errors import EvaluationError

_LARGEST_LONG = (1 << 63) - 1
_LONGEST = (1 << 31) - 1
"""No text in Arrow has more characters, so that a longer slice is a slice to the end."""


def _text(value: Any) -> str:
    text: str = cast(value, types.STRING)
    return text


# ── patterns ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=1024)
def like_pattern(pattern: str, escape: str = "\\") -> re.Pattern[str]:
    """The regular expression of a LIKE pattern: `%` any text, `_` one character, the escape makes them plain."""
    expression = ""
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, None)
            if following is None or following not in ("%", "_", escape):
                problem = f"the pattern '{pattern}' is wrong: '{escape}' must come before %, _ or itself"
                raise EvaluationError(problem)
            expression += re.escape(following)
        else:
            expression += {"%": ".*", "_": "."}.get(character) or re.escape(character)
    return re.compile(expression, re.DOTALL)


@lru_cache(maxsize=1024)
def regular_expression(pattern: str) -> re.Pattern[str]:
    """A regular expression as Java reads it: digits, word characters, blanks and other case are those of ASCII."""
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        raise EvaluationError(f"'{pattern}' is not a regular expression: {error}") from error


def _like(value: Any, pattern: str, escape: str = "\\") -> bool:
    return like_pattern(pattern, escape).fullmatch(_text(value)) is not None


def _found(value: Any, pattern: str) -> bool:
    return regular_expression(pattern).search(_text(value)) is not None


def _is_wrong(compiled: Callable[..., Any]) -> Callable[[Call], str | None]:
    """What is wrong with a pattern that the text gives as a literal."""

    def problem(call: Call) -> str | None:
        constants = [constant_value(operand) for operand in call.operands[1:]]
        texts = [constant[0] for constant in constants if constant is not None and isinstance(constant[0], str)]
        if len(texts) < len(constants):
            return None
        try:
            compiled(*texts)
        except EvaluationError as error:
            return str(error)
        return None

    return problem


def _pattern_can_fail(compiled: Callable[..., Any]) -> Callable[[Call], bool]:
    """A pattern that is no constant may be malformed on some row."""

    def can_fail(call: Call) -> bool:
        constants = [constant_value(operand) for operand in call.operands[1:]]
        if any(constant is None for constant in constants):
            return True
        texts = [constant[0] for constant in constants if constant is not None]
        if None in texts:
            return False
        try:
            compiled(*texts)
        except EvaluationError:
            return True
        return False

    return can_fail


def _like_columns(call: Call, text: Any, *constants: Value) -> Any:
    pattern, escape = (*(fixed(call, operand) for operand in constants), "\\")[:2]
    if pattern is None or escape is None or text.null_count == len(text):
        return pa.nulls(len(text), pa.bool_())
    like_pattern(pattern, escape)
    return pc.match_like(text, _with_backslashes(pattern, escape))


def _with_backslashes(pattern: str, escape: str) -> str:
    """A well-formed pattern with the one escape character that Arrow knows."""
    rewritten = ""
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters)
            rewritten += f"\\{following}" if following in "%_\\" else following
        else:
            rewritten += "\\\\" if character == "\\" else character
    return rewritten


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _substring(value: Any, position: int, length: int = _LARGEST_LONG) -> str:
    """Positions count from 1, from the end if negative; 0 is the first as well."""
    text = _text(value)
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + length, 0)]


def _substring_columns(call: Call, text: Any, *constants: Value) -> Any:
    position, length = (*(fixed(call, operand) for operand in constants), _LARGEST_LONG)[:2]
    if position is None or length is None:
        return pa.nulls(len(text), text.type)
    if position < 0:
        stop = position + length
        return pc.utf8_slice_codeunits(text, max(position, -_LONGEST), None if stop >= 0 else max(stop, -_LONGEST))
    start = max(position - 1, 0)
    stop = max(start + length, start)
    return pc.utf8_slice_codeunits(text, min(start, _LONGEST), min(stop, _LONGEST))


def _of_substring(arguments: Arguments) -> Typed:
    text, *places = arguments.operands
    return (arguments.text(text), *map(arguments.whole, places)), types.STRING


def _split_part(value: Any, delimiter: str, number: int) -> str:
    """Parts count from 1, from the end if negative; what is not there is empty."""
    if number == 0:
        raise EvaluationError("SPLIT_PART has no part 0: parts count from 1, or from the end with -1")
    text = _text(value)
    parts = text.split(delimiter) if delimiter else [text]
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if 0 <= place < len(parts) else ""


def _of_split_part(arguments: Arguments) -> Typed:
    text, delimiter, number = arguments.operands
    return (arguments.text(text), arguments.text(delimiter), arguments.whole(number)), types.STRING


def _part_can_be_0(call: Call) -> bool:
    constant = constant_value(call.operands[2])
    return constant is None or constant[0] == 0


def _with_part(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Arrow looks for the same text in all rows."""

    def columns(call: Call, text: Any, part: Value) -> Any:
        wanted = fixed(call, part)
        return pa.nulls(len(text), pa.bool_()) if wanted is None else compute(text, wanted)

    return columns


# ── changed ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _in_other_case(compute: Callable[[Any], Any]) -> Callable[..., Any]:
    def columns(call: Call, text: Any) -> Any:
        # Beyond ASCII one character may become several (ß, SS), which Arrow does not do.
        if not pc.all(pc.string_is_ascii(text)).as_py():
            if text.null_count < len(text):
                raise NotVectorized(f"{call.name} of other than ASCII text")
            return text
        return compute(text)

    return columns


def _concatenated(call: Call, *texts: Value) -> Any:
    if any(pa.types.is_large_string(text.type) for text in texts):
        texts = tuple(pc.cast(text, pa.large_string()) for text in texts)
    separator = pa.scalar("", texts[0].type)
    return pc.binary_join_element_wise(*texts, separator)


def _length(value: Any) -> int:
    return len(value) if isinstance(value, bytes) else len(_text(value))


FUNCTIONS = (
    Function(
        ("LIKE",),
        2,
        3,
        of_texts(types.BOOLEAN),
        plainly(_like),
        _like_columns,
        _pattern_can_fail(like_pattern),
        is_infix=True,
        wanted=_is_wrong(like_pattern),
    ),
    Function(
        ("RLIKE", "REGEXP_LIKE"),
        2,
        2,
        of_texts(types.BOOLEAN),
        plainly(_found),
        None,
        _pattern_can_fail(regular_expression),
        is_infix=True,
    ),
    Function(
        ("STARTSWITH",),
        2,
        2,
        of_texts(types.BOOLEAN),
        plainly(lambda value, part: _text(value).startswith(part)),
        _with_part(lambda text, part: pc.starts_with(text, part)),
        never,
    ),
    Function(
        ("ENDSWITH",),
        2,
        2,
        of_texts(types.BOOLEAN),
        plainly(lambda value, part: _text(value).endswith(part)),
        _with_part(lambda text, part: pc.ends_with(text, part)),
        never,
    ),
    Function(
        ("CONTAINS",),
        2,
        2,
        of_texts(types.BOOLEAN),
        plainly(lambda value, part: part in _text(value)),
        _with_part(lambda text, part: pc.match_substring(text, part)),
        never,
    ),
    Function(
        ("INSTR",),
        2,
        2,
        of_texts(types.INT),
        plainly(lambda value, part: _text(value).find(part) + 1),
        None,
        never,
    ),
    Function(
        ("UPPER", "UCASE"),
        1,
        1,
        of_texts(types.STRING),
        plainly(lambda value: _text(value).upper()),
        _in_other_case(pc.ascii_upper),
        never,
    ),
    Function(
        ("LOWER", "LCASE"),
        1,
        1,
        of_texts(types.STRING),
        plainly(lambda value: _text(value).lower()),
        _in_other_case(pc.ascii_lower),
        never,
    ),
    Function(
        ("TRIM",),
        1,
        1,
        of_texts(types.STRING),
        plainly(lambda value: _text(value).strip(" ")),
        lambda call, text: pc.utf8_trim(text, " "),
        never,
    ),
    Function(
        ("CONCAT",),
        1,
        None,
        of_texts(types.STRING),
        plainly(lambda *values: "".join(map(_text, values))),
        _concatenated,
        never,
    ),
    Function(
        ("LENGTH", "CHAR_LENGTH"),
        1,
        1,
        of_texts(types.INT),
        plainly(_length),
        lambda call, text: pc.utf8_length(text).cast(pa.int32()),
        never,
    ),
    Function(
        ("SUBSTRING", "SUBSTR"),
        2,
        3,
        _of_substring,
        plainly(_substring),
        _substring_columns,
        never,
    ),
    Function(
        ("SPLIT_PART",),
        3,
        3,
        _of_split_part,
        plainly(_split_part),
        None,
        _part_can_be_0,
    ),
)
