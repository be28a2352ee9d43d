"""What Python calls of the kernel: as machine code where that is at hand, else by Python itself while it costs little.

Compiling takes far longer than a few thousand events do without it. So a function that has no machine code yet, in this
process or on disk, is run by Python: the same source, each function with those it calls, over the same arrays. What a
process may spend on that is `PATIENCE`; after it the function is compiled, once for all processes of the machine. A
call over many events may be stopped between two of them (`STOPPED`), and goes on as machine code where it was.

In: a function of the kernel and its arguments. Out: what it returns. Called by everything that calls the kernel.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from types import CellType, FunctionType
from typing import Any, TypeVar

import numba
import numpy as np

from cepheid.engine.kernel import compiling
from cepheid.engine.kernel.layout import STOPPED

logger = logging.getLogger("cepheid.engine")
_Function = TypeVar("_Function", bound=Callable[..., Any])

PATIENCE = 5.0
"""Seconds that a process runs what is not compiled before it compiles it."""
FEW = 20_000
"""What a loop over arrays handles in a part of a second without being compiled."""


class _Time:
    """How long this process may still run what is not compiled, and until when the call at hand may."""

    left = PATIENCE
    until = 0.0


class Entrance:
    """A function that Python calls. `steps`: the functions below it before which it may stop; one without is run by
    Python over few entries of an array at most."""

    def __init__(self, function: Any, steps: tuple[str, ...], few: int) -> None:
        self.compiled = function
        self._steps = steps
        self._few = few
        self._interpreted: Callable[..., Any] | None = None
        self.__doc__ = function.__doc__

    @property
    def name(self) -> str:
        """The room and the function: how the names of the files begin in which it is kept."""
        return f"{self.compiled.__module__.rsplit('.', 1)[-1]}.{self.compiled.__qualname__}"

    def __call__(self, *arguments: Any) -> Any:
        if self.is_at_hand(arguments):
            return self.compiled(*arguments)
        if _Time.left > 0 and (self._steps or _entries(arguments) <= self._few):
            result = self._by_python(arguments)
            if not (self._steps and result == STOPPED):
                return result
        with compiling.one_at_a_time(self.name):
            if not self.is_at_hand(arguments):
                compiling.announce_compilation(self.compiled)
            return self.compiled(*arguments)

    def is_at_hand(self, arguments: tuple[Any, ...]) -> bool:
        """Whether there is machine code for such arguments."""
        if getattr(self.compiled, "overloads", None):
            return True
        return compiling.is_kept(self.compiled, lambda: tuple(map(numba.typeof, arguments)))

    def _by_python(self, arguments: tuple[Any, ...]) -> Any:
        if self._interpreted is None:
            self._interpreted = _Twins(self._steps).of(self.compiled)
        begun = perf_counter()
        _Time.until = begun + _Time.left
        try:
            with np.errstate(all="ignore"):  # numbers wrap around, as those of the machine do
                return self._interpreted(*arguments)
        finally:
            _Time.left -= perf_counter() - begun


def entrance(*steps: str, allocates: bool = False, few: int = FEW) -> Callable[[_Function], _Function]:
    """A function of the kernel that Python calls; nothing in the kernel does."""

    def decorate(function: _Function) -> _Function:
        return Entrance(compiling.whole(function, allocates), steps, few)  # type: ignore[return-value]

    return decorate


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Within it, what is not compiled is run by Python for so long; 0: everything is compiled at once."""
    before = _Time.left
    _Time.left = seconds
    try:
        yield
    finally:
        _Time.left = before


def _entries(arguments: tuple[Any, ...]) -> int:
    return max((len(argument) for argument in arguments if isinstance(argument, np.ndarray)), default=0)


class _Twins:
    """Functions of the kernel whose callees are run by Python, as they are themselves."""

    def __init__(self, steps: tuple[str, ...]) -> None:
        self._steps = steps
        self._functions: dict[Any, Callable[..., Any]] = {}
        self._globals: dict[int, dict[str, Any]] = {}

    def of(self, compiled: Any) -> Callable[..., Any]:
        function: FunctionType = getattr(compiled, "py_func", compiled)
        if function not in self._functions:
            cells = tuple(CellType(self._translated(cell.cell_contents)) for cell in function.__closure__ or ())
            twin = FunctionType(
                function.__code__, self._room(function), function.__name__, function.__defaults__, cells or None
            )
            self._functions[function] = _stopping(twin) if function.__name__ in self._steps else twin
        return self._functions[function]

    def _room(self, function: FunctionType) -> dict[str, Any]:
        """The names that a function sees, with twins."""
        names = function.__globals__
        if id(names) not in self._globals:
            room = self._globals[id(names)] = dict(names)
            for name, value in names.items():
                room[name] = self._translated(value)
        return self._globals[id(names)]

    def _translated(self, value: Any) -> Any:
        for intrinsic, interpreted in compiling.INTERPRETED:
            if value is intrinsic:
                return interpreted
        return self.of(value) if hasattr(value, "py_func") else value


def _stopping(twin: Callable[..., Any]) -> Callable[..., Any]:
    def step(*arguments: Any) -> Any:
        return STOPPED if perf_counter() > _Time.until else twin(*arguments)

    return step
