"""How kernels are compiled: those that Python calls, and the functions that only kernels call.

The latter are compiled into each kernel, and are plain Python where Python calls them.  Numba would otherwise make each
a kernel of its own: a fifth of all compiling went there, and into second versions for numbers written in a call.
Numba is imported when the first function is decorated.

No function makes an array or hands one back: what they write to is given to them.  So numba need not count references
(``_nrt``), which is half of what it would compile.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from rerank.errors.compiling import kept

Function = TypeVar("Function", bound=Callable[..., Any])
MARK = "compiled_into_kernels"  # the attribute of a function that only kernels call


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that Python calls: compiled for the types of its first call, and kept on disk. ``options``
    are those of :func:`numba.njit`.
    """
    return kept(no_cfunc_wrapper=True, _nrt=False, **options)


def inner(**options: Any) -> Callable[[Function], Function]:
    """Decorate a function that only kernels call; ``options`` as those of :func:`kernel`."""
    from numba.extending import register_jitable

    def marked(function: Function) -> Function:
        setattr(function, MARK, True)
        decorate = register_jitable(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False, **options)
        compiled: Function = decorate(function)
        return compiled

    return marked


def writable(parts: Any) -> Any:
    """A tuple of arrays and numbers for a kernel, which is compiled for plain arrays; processes get read-only maps."""
    made = [np.require(x, requirements=["C", "W"]) if isinstance(x, np.ndarray) else x for x in parts]
    return type(parts)(*(writable(x) if isinstance(x, tuple) else x for x in made))
