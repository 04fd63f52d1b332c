"""How many threads the linear algebra has: one, where tables are so small that threads wait for each other."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from threadpoolctl import threadpool_limits

SMALL = 10**6
"""Numbers of a table up to which its products are taken by one thread."""

_one: ContextVar[bool] = ContextVar("one", default=False)


@contextmanager
def one_thread(numbers: int = 0) -> Iterator[None]:
    """One thread inside the block, for a table of so many numbers; nothing for a large table, or inside another one."""
    if _one.get() or numbers > SMALL:
        yield
        return
    token = _one.set(True)
    try:
        with threadpool_limits(1, "blas"):
            yield
    finally:
        _one.reset(token)
