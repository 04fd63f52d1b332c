"""Where the jobs of a round run: in this thread, on several, or wherever joblib's configuration sends them.

The kernels hold no lock of the interpreter, so threads share the tables and start at once.  A backend that the
caller set with :func:`joblib.parallel_config` (processes, Ray, Dask) is used instead.

The first argument of every job is what all jobs read: tables, or a layout of them.  It goes to each process once: on
one machine as files that joblib maps into memory, on Ray through its object store.  Jobs have no effect but their
results, so those of a worker that is lost are done again.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from rerank.errors.lost import answers
from rerank.errors.stops import current

if TYPE_CHECKING:
    from joblib import Parallel

Job = tuple[Callable[..., Any], tuple[Any, ...]]

MAPPED = 16_000  # bytes from which joblib maps an array instead of sending it with each job
MOST_FETCHED = 2  # objects that a process on Ray keeps: the tables and the layout of one search


class SearchWorkers:
    """A pool that is started when first used, and ended with the ``with`` block; joblib's count of workers. Make it in
    the thread of the caller: joblib's configuration belongs to a thread.
    """

    def __init__(self, n_jobs: int | None) -> None:
        self.n_jobs = n_jobs
        self._stack = ExitStack()
        self._threads: ThreadPoolExecutor | None = None
        self._joblib: Parallel | None = None
        self._configured: int | None = None
        self._started = False
        self._sent: dict[int, tuple[Any, Any]] | None = None  # on Ray: what was put into the store, and references
        # Without joblib imported nobody has configured it, and to import it takes a tenth of a second.
        if n_jobs != 1 and "joblib" in sys.modules:
            from joblib import Parallel
            from joblib.parallel import ThreadingBackend, get_active_backend

            backend, self._configured = get_active_backend(prefer="threads")
            if not isinstance(backend, ThreadingBackend):
                # Mapped copy-on-write: the kernels are compiled for arrays that may be written.  One job at a time:
                # rounds are short, and jobs that joblib puts together would leave workers without one.
                self._joblib = Parallel(n_jobs=n_jobs, prefer="threads", max_nbytes=MAPPED, mmap_mode="c", batch_size=1)
                self._sent = {} if type(backend).__module__.startswith("ray.") else None

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

    def __enter__(self) -> SearchWorkers:
        return self

    def __exit__(self, *error: object) -> None:
        if self._threads is not None:
            # Jobs that run end by themselves within their share of work.
            self._threads.shutdown(wait=True, cancel_futures=True)
        self._threads = None
        self._started = False
        self._sent = None if self._sent is None else {}
        self._stack.close()

    def run(self, jobs: Sequence[Job], alone: bool = False) -> list[Any]:
        """Results in the order of the jobs, None for those that were not begun because it was time to stop. If
        ``alone``, they run one after the other in this thread.
        """
        if not alone and not self._started:
            self._start()
        if not alone and self._joblib is not None:
            return answers(lambda: self._elsewhere(jobs), self._renew)
        if alone or self._threads is None:
            return [_unless_stopped(job) for job in jobs]
        pool = self._threads
        waiting: list[Future[Any]] = [pool.submit(copy_context().run, _unless_stopped, job) for job in jobs]
        try:
            return [future.result() for future in waiting]
        finally:
            for future in waiting:
                future.cancel()

    def _elsewhere(self, jobs: Sequence[Job]) -> list[Any]:
        from joblib import delayed

        assert self._joblib is not None
        sent = [job if self._sent is None else self._by_reference(*job) for job in jobs]
        return list(self._joblib(delayed(function)(*given) for function, given in sent))

    def _renew(self) -> None:
        """New processes in place of those that were lost, to which everything is sent anew."""
        self._sent = None if self._sent is None else {}
        self._stack.close()
        self._start()

    def _by_reference(self, function: Callable[..., Any], given: tuple[Any, ...]) -> Job:
        """The job with a reference to Ray's object store in place of its first argument."""
        import ray

        assert self._sent is not None
        shared = given[0]
        if id(shared) not in self._sent:
            self._sent[id(shared)] = shared, ray.put(shared)
        return _with_fetched, (function, self._sent[id(shared)][1], *given[1:])

    def _start(self) -> None:
        """Joblib's own threads poll every hundredth of a second, as long as a round lasts; ours wake up at once."""
        self._started = True
        if self._joblib is not None:
            self._stack.enter_context(self._joblib)
        elif self.count > 1:
            self._threads = ThreadPoolExecutor(self.count, thread_name_prefix="rerank")


_fetched: dict[str, Any] = {}  # of a process on Ray: the objects of the last search


def _with_fetched(function: Callable[..., Any], reference: Any, *given: Any) -> Any:
    """Call a function on a process of Ray, with what a reference stands for."""
    key = reference.hex()
    if key not in _fetched:
        import ray

        if len(_fetched) >= MOST_FETCHED:
            _fetched.clear()
        # Ray gives arrays that must not be written; one copy for the process saves one for each job.
        _fetched[key] = copy.deepcopy(ray.get(reference))
    return function(_fetched[key], *given)


def _unless_stopped(job: Job) -> Any:
    function, given = job
    return None if current().now else function(*given)
