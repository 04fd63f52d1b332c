"""Where the jobs of a round run: in this thread, on several, or wherever joblib's configuration sends them.

The kernels hold no lock of the interpreter, so threads share the tables and start at once.  A backend that the
caller set with :func:`joblib.parallel_config` (processes, Ray, Dask) is used instead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from rerank.errors.stops import current

if TYPE_CHECKING:
    from joblib import Parallel

Job = tuple[Callable[..., Any], tuple[Any, ...]]


class Workers:
    """A pool that is started when first used, and ended with the ``with`` block.

    Make it in the thread of the caller: joblib's configuration belongs to a thread.

    Parameters
    ----------
    n_jobs : int or None
        As joblib counts workers.
    """

    def __init__(self, n_jobs: int | None) -> None:
        self.n_jobs = n_jobs
        self._stack = ExitStack()
        self._threads: ThreadPoolExecutor | None = None
        self._joblib: Parallel | None = None
        self._configured: int | None = None
        self._started = False
        # Without joblib imported nobody has configured it, and to import it takes a tenth of a second.
        if n_jobs != 1 and "joblib" in sys.modules:
            from joblib import Parallel
            from joblib.parallel import ThreadingBackend, get_active_backend

            backend, self._configured = get_active_backend(prefer="threads")
            if not isinstance(backend, ThreadingBackend):
                self._joblib = Parallel(n_jobs=n_jobs, prefer="threads")

    @property
    def count(self) -> int:
        """Workers in this process, at least 1."""
        if self._joblib is not None or self.n_jobs == 1:
            return 1
        if self.n_jobs is not None and self.n_jobs > 0:
            return self.n_jobs
        wanted = self._configured if self.n_jobs is None else self.n_jobs
        if wanted is None:
            return 1
        from joblib import effective_n_jobs  # a tenth of a second, so not with the module

        return int(effective_n_jobs(wanted))

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        if self._threads is not None:
            # Jobs that run end by themselves within their share of work.
            self._threads.shutdown(wait=True, cancel_futures=True)
        self._threads = None
        self._started = False
        self._stack.close()

    def run(self, jobs: Sequence[Job], alone: bool = False) -> list[Any]:
        """Results in the order of the jobs, None for those that were not begun because it was time to stop.

        If ``alone``, they run one after the other in this thread.
        """
        if not alone and not self._started:
            self._start()
        if not alone and self._joblib is not None:
            from joblib import delayed

            return list(self._joblib(delayed(function)(*given) for function, given in jobs))
        if alone or self._threads is None:
            return [_unless_stopped(job) for job in jobs]
        pool = self._threads
        waiting: list[Future[Any]] = [pool.submit(copy_context().run, _unless_stopped, job) for job in jobs]
        try:
            return [future.result() for future in waiting]
        finally:
            for future in waiting:
                future.cancel()

    def _start(self) -> None:
        """Joblib's own threads poll every hundredth of a second, as long as a round lasts; ours wake up at once."""
        self._started = True
        if self._joblib is not None:
            self._stack.enter_context(self._joblib)
        elif self.count > 1:
            self._threads = ThreadPoolExecutor(self.count, thread_name_prefix="rerank")


def _unless_stopped(job: Job) -> Any:
    function, given = job
    return None if current().now else function(*given)
