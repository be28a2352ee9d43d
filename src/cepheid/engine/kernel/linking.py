"""Whole functions of the kernel are optimized once, with all their parts, instead of part by part.

numba makes a library of every function: what the function calls is linked in, and all of it is optimized and written as
machine code, though only what Python calls is ever run by itself. So what many functions deep is called is optimized at
each of these depths, which was half of the kernel's compilation. Here a *part* is only typed and lowered; a *whole*,
which Python calls, links in all parts that it needs, directly or not, and is optimized once.

Two more things make the machine code shorter:

- Nobody calls a part from outside, which the optimizer is told. Only then may it change what a part is passed, which is
  otherwise every number of every array.
- An index of the kernel never counts from the end. numba allows for that at each access, by three instructions that
  the access waits for. Functions that make arrays of their own are compiled as usual. `tests/engine/test_indices` runs
  the corpora on arrays that refuse such an index.

In: nothing. Out: pipelines for numba's decorator. Called by `compiling`.
"""

from __future__ import annotations

import ctypes
from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.np import arrayobj

_NEVER_CALLED = ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value
"""numba wants the address of every function; nobody calls that of a part."""


class _Unset:
    """Stands for the code generator where numba would write to memory that a part does not have."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Functions without Python objects read no environment."""


class _Part(JITCodeLibrary):
    """A function that only others of the kernel call: no machine code of its own."""

    codegen = _Unset

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> Any:
        self._ensure_finalized()
        return _NEVER_CALLED


class _Whole(JITCodeLibrary):
    """A function that Python calls, with all its parts."""

    def finalize(self) -> None:
        self._own = {function.name for function in self._final_module.functions if not function.is_declaration}
        self._linking_libraries = _callers_first(self)[1:]
        super().finalize()

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.name not in self._own:
                function.linkage = "internal"
        super()._optimize_final_module()


def _callers_first(whole: JITCodeLibrary) -> list[JITCodeLibrary]:
    """A function and all its parts, each after those that call it: the linker drops what nobody has called so far."""
    done: dict[JITCodeLibrary, None] = {}

    def visit(library: JITCodeLibrary) -> None:
        if library not in done:
            if isinstance(library, _Part | _Whole):
                for callee in library._linking_libraries:
                    visit(callee)
            done[library] = None

    visit(whole)
    return list(reversed(done))


_integer_index = arrayobj.fix_integer_index


def _from_the_start(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """An index as the machine takes it: in functions of the kernel, as it is."""
    if getattr(context, "counts_from_the_start", False):
        return context.cast(builder, index, kind, types.intp)
    return _integer_index(context, builder, kind, index, size)


arrayobj.fix_integer_index = _from_the_start


class _KernelPipeline(Compiler):
    """What both pipelines share."""

    def define_pipelines(self) -> Any:
        if not self.state.flags.nrt:
            self.state.targetctx.counts_from_the_start = True  # it belongs to this function alone
        return super().define_pipelines()


class PartPipeline(_KernelPipeline):
    """How a part is compiled."""

    def define_pipelines(self) -> Any:
        state = self.state
        if state.library is None:
            state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


class WholePipeline(_KernelPipeline):
    """How a whole is compiled."""

    def define_pipelines(self) -> Any:
        state = self.state
        if state.library is None:
            state.library = _Whole(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        return super().define_pipelines()
