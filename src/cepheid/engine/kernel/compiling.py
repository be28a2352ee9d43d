"""How the kernel's functions are compiled: once for all patterns, and kept on disk where that is possible.

numba refuses to import a cached function where it finds no place to write or no file of its source (the package may
lie in a zip or a wheel), and does not notice when a function that another one calls has changed. So a place is looked
for first: `CEPHEID_CACHE`, else beside the package, else the user's cache directory; in it, a directory named by the
sources of the kernel, wherever they lie: all copies of one version share what is compiled. Where none can be written,
the kernel is compiled anew in each process, and the log says so. Only what Python calls is kept (`entrances`); it holds
all that it calls (`linking`).

What is kept is pickle, and reading it runs it: the directory belongs to whoever runs the kernel and to nobody else, one
that others own or could have written to is not used, and files that cannot be read are compiled anew.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching, cgutils, types
from numba.extending import intrinsic

from cepheid.engine.kernel.cohort_layout import COHORT_WIDTHS
from cepheid.engine.kernel.layout import WIDTHS
from cepheid.engine.kernel.linking import PartPipeline, WholePipeline

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger("cepheid.engine")
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _sources() -> str:
    """A name for the sources of the kernel, which compiled code belongs to."""
    digest = hashlib.sha256(numba.__version__.encode())
    room = importlib.resources.files(__package__)
    for source in sorted(room.iterdir(), key=lambda file: file.name):
        if source.name.endswith(".py"):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


SOURCES = _sources()


def _place() -> Path | None:
    """Where compiled code is kept, None if it cannot be."""
    named = os.environ.get("CEPHEID_CACHE")
    candidates = [Path(named)] if named else [Path(__file__).parent / "__pycache__", Path.home() / ".cache" / "cepheid"]
    for candidate in candidates:
        place = candidate / f"kernel-{SOURCES}"
        try:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not _is_private(place):
                continue
            probe = place / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except (OSError, RuntimeError):
            continue
        return place
    return None


def _is_private(place: Path) -> bool:
    """Whether nobody but this user has written to the directory; from now on nobody else can read it either."""
    if not hasattr(os, "getuid"):  # Windows keeps a user's directories apart by other means
        return True
    found = place.stat()
    if found.st_uid != os.getuid():
        logger.warning("compiled code in %s is not used: the directory belongs to another user", place)
        return False
    if found.st_mode & 0o022 and any(place.iterdir()):
        logger.warning("compiled code in %s is not used: others can write there. Remove the directory", place)
        return False
    place.chmod(0o700)
    return True


PLACE = _place()
if PLACE is None:
    logger.warning(
        "no directory for compiled code can be written: the engine is compiled in each process, which takes about "
        "a minute. Name a writable one with CEPHEID_CACHE."
    )


LARGE = ("match_sorted", "match_cohorts", "scan")
"""Functions whose compilation is long enough to be told."""


def announce_compilation(function: Any) -> None:
    """Say that a function of the kernel is being compiled: otherwise the program would seem to hang."""
    if function.__name__ in LARGE:
        logger.warning("compiling the engine, once for this machine and version: this takes up to a minute")


@contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Of several processes that need the same function, one compiles it and the others wait for that."""
    if PLACE is None or fcntl is None:
        yield
        return
    with (PLACE / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_kept(function: Any, signature: Callable[[], Any]) -> bool:
    """Whether machine code of a function is on disk, for this kind of processor."""
    kept = getattr(function, "_cache", None)
    return isinstance(kept, _Kept) and kept.holds(signature, function.targetctx)


class _Locator:
    """Tells numba where a function of the kernel is kept, and that it is as fresh as the sources of the kernel."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file
        self._line = function.__code__.co_firstlineno

    def ensure_cache_path(self) -> None:
        """The place was written to when it was found."""

    def get_cache_path(self) -> str:
        return str(PLACE)

    def get_source_stamp(self) -> str:
        return SOURCES

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func, py_file)


class _Form(caching.CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012  # as numba declares it


class _Kept(caching.FunctionCache):
    """numba's cache of one function, at the kernel's place."""

    _impl_class = _Form

    def holds(self, signature: Callable[[], Any], target: Any) -> bool:
        """Whether there is something for a signature, as far as the index tells."""
        if not os.path.exists(self._cache_file._index_path):
            return False
        try:
            return self._index_key(signature(), target.codegen()) in self._cache_file._load_index()
        except Exception:  # damaged: `load_overload` says so
            return True

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was kept; nothing if it is damaged, so that it is compiled anew and kept again."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # a damaged pickle raises whatever its bytes say
            logger.warning("compiled code in %s is damaged and made anew: %r", self.cache_path, error)
        try:
            self.flush()
        except OSError:
            self.disable()
        return None


def _decorated(function: _Function, **options: Any) -> Any:
    options["no_cfunc_wrapper"] = True  # nobody calls it from C
    return numba.njit(nogil=True, error_model="numpy", **options)(function)


def _part(function: _Function, **options: Any) -> Any:
    """Python does not call it, so it needs nothing that takes its arguments out of Python's objects."""
    return _decorated(function, pipeline_class=PartPipeline, no_cpython_wrapper=True, **options)


def compiled(function: _Function) -> _Function:
    """A function of the kernel. It makes no arrays, so references need not be counted (see `borrowed`)."""
    return _part(function, _nrt=False)  # type: ignore[no-any-return]


def inlined(function: _Function) -> _Function:
    """A small function of the kernel, or one with a single caller, that becomes part of its callers."""
    return _part(function, _nrt=False, forceinline=True)  # type: ignore[no-any-return]


def allocating(function: _Function) -> _Function:
    """A function of the kernel that makes arrays of its own."""
    return _part(function)  # type: ignore[no-any-return]


def whole(function: _Function, allocates: bool) -> Any:
    """A function that Python calls, with all that it calls, told where to keep what is compiled (see `entrances`)."""
    result = _decorated(function, pipeline_class=WholePipeline, **({} if allocates else {"_nrt": False}))
    if PLACE is not None and hasattr(result, "_cache"):  # absent where NUMBA_DISABLE_JIT leaves the function as it is
        result._cache = _Kept(function)
    return result


@intrinsic
def borrowed(context: Any, arrays: Any) -> Any:
    """A named tuple of arrays whose memory the caller keeps alive.

    numba counts references to an array whenever a function takes it; with dozens of arrays that costs more than what
    the kernel's functions do. Arrays that own nothing are not counted. Where all patterns have the same columns
    (`layout.WIDTHS`), their number is a constant, so that the place of an entry needs neither a load nor a
    multiplication.
    """
    widths = (WIDTHS | COHORT_WIDTHS).get(arrays.instance_class.__name__, {})

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        [kind] = signature.args
        result = arguments[0]
        for index, element in enumerate(kind.types):
            array = target.make_array(element)(target, builder, builder.extract_value(result, index))
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            array.parent = cgutils.get_null_value(array.parent.type)
            if kind.fields[index] in widths:
                width = widths[kind.fields[index]]
                size = element.dtype.bitwidth // 8
                array.shape = builder.insert_value(array.shape, target.get_constant(types.intp, width), 1)
                array.strides = cgutils.pack_array(
                    builder, [target.get_constant(types.intp, length) for length in (width * size, size)]
                )
            result = builder.insert_value(result, array._getvalue(), index)
        return result

    return arrays(arrays), generate


@intrinsic
def lowest(context: Any, bits: Any) -> Any:
    """The place of the lowest bit of a word that is set; there must be one."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], target.get_constant(types.boolean, True))

    return types.int64(types.uint64), generate


INTERPRETED: tuple[tuple[Any, Callable[..., Any]], ...] = (
    (borrowed, lambda arrays: arrays),
    (lowest, lambda bits: (int(bits) & -int(bits)).bit_length() - 1),
)
"""What Python does in the place of machine code that is not compiled from Python."""
