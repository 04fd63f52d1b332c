"""Kernels: functions that begin as Python, and are compiled where that pays.

To compile a kernel takes seconds, importing numba half a second, and many a first fit is done by then.  So a kernel is
interpreted until that has taken as long as compiling it takes at least: then the start has cost no more than twice the
better choice, whatever the problem [Karlin, Manasse, Rudolph, Sleator 1988, of renting and buying].  It is compiled at
once where the arrays that it is given show that it will take longer, and loaded where the cache holds it.

What a kernel returns has the same bits either way.  So one whose sums numba may reorder (``fastmath``) is never
interpreted, nor is one that calls such a function, but for sums of whole numbers and halves, which are ``exact`` in any
order.

Compiled code is kept on disk where there is a folder for it.  In a container without one, each process compiles.
"""

import functools
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

import numpy as np

from rerank.errors.compiling import say, uncounted, watch

Function = TypeVar("Function", bound=Callable[..., Any])

A_BYTE = 5e-4
"""Seconds that compiling takes for a byte of Python's bytecode, by ``python -m benchmarks.exact --compile``."""

AN_ENTRY, BY_NUMPY = 1e-6, 1e-7  # seconds in which Python, and NumPy, look at an entry of an array once, about

NOT_KEPT = (
    "Compiled code cannot be kept ({}), so each process compiles for itself, for up to a minute; set NUMBA_CACHE_DIR "
    "to a folder that can be written."
)
FAST = "sums_may_be_reordered"  # the attribute of an inner function of which that is so
MARK = "compiled_into_kernels"  # the attribute of a function that only kernels call: what is compiled of it

_lock = threading.RLock()
_waiting: list[Callable[[], object]] = []  # what numba is told before it compiles the next kernel
_here = threading.local()  # whether this thread is inside a kernel that is interpreted
_not_kept = False
_at_once = 0  # blocks of :func:`at_once` that run


class Kernel:
    """A function, and its compiled form from when it pays to have it. ``options`` are those of :func:`numba.njit`."""

    def __init__(
        self, function: Any, exact: bool, share: float, passes: int, python: Any, options: dict[str, Any]
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.exact, self.share, self.options = function, exact, share, options
        self._python, self._each = python or function, passes * (BY_NUMPY if python else AN_ENTRY)
        self.spent = 0.0  # seconds interpreted
        self._made: Any = None
        self._call: Any = None  # what is called from now on, once that is settled

    def __call__(self, *given: Any) -> Any:
        """The function's result."""
        if self._call is not None:
            return self._call(*given)
        if getattr(_here, "inside", False):
            return self._python(*given)
        if not self.interpreted(_entries(given)):
            return self.made()(*given)
        began, _here.inside = time.thread_time(), True
        try:
            with np.errstate(all="ignore"):  # as compiled code does
                return self._python(*given)
        finally:
            _here.inside = False
            self.spent += time.thread_time() - began

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.made(), name)

    @property
    def signatures(self) -> list[Any]:
        """For which types it is compiled."""
        return [] if self._made is None else list(self._made.signatures)

    @functools.cached_property
    def seconds(self) -> float:
        """What compiling takes at least; 0 where the result of Python may differ in its bits."""
        called = _called(self, set())
        if not self.exact and any(map(_is_fast, called)):
            return 0.0
        return A_BYTE * self.share * sum(_length(_plain(f).__code__) for f in called)

    @functools.cached_property
    def _on_disk(self) -> bool:
        return _is_on_disk(self.py_func)

    def left(self) -> float:
        """Seconds that it may still be interpreted, infinite if nothing compiles it; 0 from when it is compiled."""
        if _disabled():
            return math.inf
        if self._call is None and (self.signatures or _at_once or self._on_disk or self.spent >= self.seconds):
            self._call = self.made()
        return 0.0 if self._call is not None else self.seconds - self.spent

    def interpreted(self, entries: int = 0) -> bool:
        """Whether it is Python's in a call in which that looks at so many entries, at least."""
        if self.left() > entries * self._each:
            return True
        self._call = self.made()
        return False

    def made(self) -> Any:
        """Numba's dispatcher."""
        with _lock:
            if self._made is None:
                with uncounted():
                    self._made = _made(self.py_func, self.options)
            return self._made


def kept(
    exact: bool = False, share: float = 1.0, passes: int = 1, python: Any = None, **options: Any
) -> Callable[[Any], Any]:
    """Decorate a kernel: compiled for the types of each first call, and kept on disk where that is possible; a line
    says once where it is not. ``options`` are those of :func:`numba.njit`; sums are ``exact`` in any order if their
    terms are whole numbers or halves. A ``share`` of the code is compiled. A call looks at every entry of its largest
    array in about so many ``passes``.
    Where loops take Python long, ``python`` is a function with the same results by NumPy.
    """
    return lambda function: Kernel(function, exact, share, passes, python, options)


def inner(python: Any = None, **options: Any) -> Callable[[Function], Function]:
    """Decorate a function that only kernels call; ``options``, and ``python``, as those of :func:`kept`. It is plain
    Python where Python calls it.
    """

    def marked(function: Function) -> Function:
        called = python or function
        setattr(called, MARK, function)
        setattr(called, FAST, bool(options.get("fastmath")))
        before_compiling(lambda: _registered(called, function, options))
        return called

    return marked


def before_compiling(tell: Callable[[], None]) -> Callable[[], None]:
    """Decorate a function that tells numba something, once, before it compiles the next kernel."""
    _waiting.append(tell)
    return tell


def _registered(called: Any, function: Any, options: dict[str, Any]) -> None:
    """Kernels that call the first have the second in them."""
    from numba.extending import overload

    inline = options.get("inline", "never")
    given = {name: value for name, value in options.items() if name != "inline"}
    given |= {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    overload(called, jit_options=given, strict=False, inline=inline)(lambda *_, **__: function)


@contextmanager
def at_once() -> Iterator[None]:
    """Kernels that are called in the block are compiled, whatever that costs."""
    global _at_once
    _at_once += 1
    try:
        yield
    finally:
        _at_once -= 1


def _made(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    from numba import njit

    watch()
    while _waiting:
        _waiting.pop()()
    compiled = njit(nogil=True, **options)(function)
    if compiled is not function:  # as it is with NUMBA_DISABLE_JIT
        try:
            compiled.enable_caching()
        except RuntimeError:  # numba finds no folder that it could write to
            _say_not_kept("no folder beside the package or in the home can be written")
        else:
            _guard(compiled._cache)
    return compiled


def _guard(cache: Any) -> None:
    """What cannot be read from a cache is compiled, and what cannot be written to it is not kept."""

    def guarded(step: Callable[..., Any]) -> Callable[..., Any]:
        def tried(*given: Any) -> Any:
            try:
                return step(*given)
            except Exception as error:  # a damaged pickle may raise any, says the documentation of Python
                _say_not_kept(f"{cache.cache_path}: {getattr(error, 'strerror', None) or 'damaged'}")

        return tried

    cache.load_overload, cache.save_overload = guarded(cache.load_overload), guarded(cache.save_overload)


def _say_not_kept(why: str) -> None:
    global _not_kept
    if not _not_kept:
        _not_kept = True
        say(NOT_KEPT.format(why), verbose=True)


def _disabled() -> bool:
    """Whether numba is told to compile nothing, which is how kernels are debugged."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def _entries(given: Any) -> int:
    """Entries of the largest array in tuples of tuples."""
    if isinstance(given, np.ndarray):
        return given.size
    return max(map(_entries, given), default=0) if isinstance(given, tuple) else 0


def _called(function: Any, known: set[Any]) -> set[Any]:
    """The function and those of this package that are called in it."""
    known.add(function)
    plain = _plain(function)
    for name in _names(plain.__code__):
        other = plain.__globals__.get(name)
        if other not in known and (isinstance(other, Kernel) or hasattr(other, MARK)):
            _called(other, known)
    return known


def _plain(function: Any) -> Any:
    """What is compiled of a kernel, or of a function that only kernels call."""
    return function.py_func if isinstance(function, Kernel) else getattr(function, MARK)


def _is_fast(function: Any) -> bool:
    """Whether it has sums that numba may reorder, which shows."""
    if isinstance(function, Kernel):
        return bool(function.options.get("fastmath")) and not function.exact
    return bool(getattr(function, FAST))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names(code: CodeType) -> set[str]:
    return {name for part in _codes(code) for name in part.co_names}


def _length(code: CodeType) -> int:
    return sum(len(part.co_code) for part in _codes(code))


def _is_on_disk(function: Callable[..., Any]) -> bool:
    """Whether numba's cache has an index of the function that is no older than its file, without asking numba."""
    code = function.__code__
    source = Path(code.co_filename)
    start = f"{source.stem}.{function.__qualname__}-{code.co_firstlineno}.py{sys.version_info[0]}{sys.version_info[1]}"
    given = os.environ.get("NUMBA_CACHE_DIR")
    folders = [Path(given)] if given else [source.parent / "__pycache__", *_of_user()]
    kept_at = [when for folder in folders for name, when in _indices(folder) if name.startswith(start)]
    try:
        return bool(kept_at) and max(kept_at) >= source.stat().st_mtime
    except OSError:
        return bool(kept_at)


def _of_user() -> list[Path]:
    """Where numba keeps what it cannot keep beside the sources, on Linux, on macOS and on Windows."""
    caches = [os.environ.get("XDG_CACHE_HOME"), os.environ.get("LOCALAPPDATA")]
    home = Path(os.path.expanduser("~"))
    return [Path(folder) / "numba" for folder in caches if folder] + [
        home / ".cache" / "numba",
        home / "Library" / "Caches" / "numba",
    ]


@functools.cache
def _indices(folder: Path) -> list[tuple[str, float]]:
    """Names of the index files of a folder and of those in it, and when they were written."""
    found = []
    try:
        for entry in os.scandir(folder):
            inside = os.scandir(entry) if entry.is_dir() else [entry]
            found += [(file.name, file.stat().st_mtime) for file in inside if file.name.endswith(".nbi")]
    except OSError:
        pass  # what cannot be read there is compiled anew
    return found
