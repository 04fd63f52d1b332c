"""Workers that are lost, killed or out of memory, and jobs that are done again."""

import sys
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from typing import TypeVar

from rerank.errors import SolverError

Answer = TypeVar("Answer")
Renew = Callable[[], None]


def lost() -> tuple[type[Exception], ...]:
    """The errors of a call whose worker, its machine or an object of it was lost, of joblib and of Ray."""
    ray = sys.modules.get("ray.exceptions")
    if ray is None:
        return (BrokenExecutor,)
    of_ray = "RayActorError", "ObjectLostError", "OutOfMemoryError", "WorkerCrashedError", "NodeDiedError"
    return BrokenExecutor, *(getattr(ray, name) for name in of_ray)


def answers(workers: Callable[[], Answer], renew: Renew = lambda: None) -> Answer:
    """What ``workers`` returns; after a loss ``renew`` makes new workers, which do the jobs again. Jobs whose workers
    are lost twice are not done in this process: what ended these would end it, too.
    """
    try:
        return workers()
    except lost() as error:
        warnings.warn(
            f"Workers were lost ({type(error).__name__}), killed or out of memory; their jobs are done again by new "
            "ones, with the same result. Ask for fewer workers if memory ended.",
            RuntimeWarning,
            stacklevel=3,
        )
    renew()
    try:
        return workers()
    except lost() as error:
        raise SolverError(
            f"The workers of the same jobs were lost twice ({type(error).__name__}), killed or out of memory; ask for "
            "fewer workers, or for none (n_jobs=1)."
        ) from error
