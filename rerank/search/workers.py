"""Where the jobs of a round run: here, on threads, or wherever joblib's configuration sends them.

The kernels hold no lock of the interpreter, so threads share the tables and start at once.  A backend that the
caller set with :func:`joblib.parallel_config` (processes, Ray, Dask) is used instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from joblib import Parallel

Job = tuple[Callable[..., Any], tuple[Any, ...]]


class Workers:
    """A pool that is started when first used, and ended with the ``with`` block.

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

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        if self._threads is not None:
            # Jobs that run end by themselves within their share of work.
            self._threads.shutdown(wait=True, cancel_futures=True)
        self._threads = self._joblib = None
        self._stack.close()

    def run(self, jobs: Sequence[Job], alone: bool = False) -> list[Any]:
        """Results in the order of the jobs; one after the other in this thread if ``alone``."""
        if alone:
            return [function(*given) for function, given in jobs]
        if self._threads is None and self._joblib is None:
            self._start()
        if self._joblib is not None:
            from joblib import delayed

            return list(self._joblib(delayed(function)(*given) for function, given in jobs))
        if self._threads is None:
            return [function(*given) for function, given in jobs]
        waiting: list[Future[Any]] = [self._threads.submit(function, *given) for function, given in jobs]
        try:
            return [future.result() for future in waiting]
        finally:
            for future in waiting:
                future.cancel()

    def _start(self) -> None:
        """Joblib's own threads poll every hundredth of a second, as long as a round lasts; ours wake up at once."""
        if self.n_jobs == 1:
            return
        from joblib import Parallel, effective_n_jobs  # a tenth of a second, so not with the module
        from joblib.parallel import ThreadingBackend, get_active_backend

        backend, configured = get_active_backend(prefer="threads")
        if not isinstance(backend, ThreadingBackend):
            self._joblib = self._stack.enter_context(Parallel(n_jobs=self.n_jobs, prefer="threads"))
            return
        count = effective_n_jobs(configured if self.n_jobs is None else self.n_jobs)
        if count > 1:
            self._threads = ThreadPoolExecutor(count, thread_name_prefix="rerank")
