"""How kernels of the search are compiled: those that Python calls, and the functions that only kernels call.

The latter are compiled into each kernel, and are plain Python where Python calls them.  Numba would otherwise make each
a kernel of its own: a fifth of all compiling went there, and into second versions for numbers written in a call.

No function makes an array or hands one back: what they write to is given to them.  So numba need not count references
(``_nrt``), which is half of what it would compile.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rerank.errors.kernels import inner, kept

__all__ = ["inner", "kernel", "writable"]


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that Python calls: a :func:`~rerank.errors.kernels.kept` kernel without references."""
    return kept(no_cfunc_wrapper=True, _nrt=False, **options)


def writable(parts: Any) -> Any:
    """A tuple of arrays and numbers for a kernel, which is compiled for plain arrays; processes get read-only maps."""
    made = [np.require(x, requirements=["C", "W"]) if isinstance(x, np.ndarray) else x for x in parts]
    return type(parts)(*(writable(x) if isinstance(x, tuple) else x for x in made))
