"""Workers that are lost, killed or out of memory, and jobs that are done again."""

import sys
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from typing import TypeVar

Answer = TypeVar("Answer")
Renew = Callable[[], None]


def lost() -> tuple[type[Exception], ...]:
    """The errors of a call whose worker, its machine or an object of it was lost, of joblib and of Ray."""
    ray = sys.modules.get("ray.exceptions")
    if ray is None:
        return (BrokenExecutor,)
    of_ray = "RayActorError", "ObjectLostError", "OutOfMemoryError", "WorkerCrashedError", "NodeDiedError"
    return BrokenExecutor, *(getattr(ray, name) for name in of_ray)


class Sent:
    """Jobs that workers do; those of a lost worker are done again by new ones, and once these are lost too, here."""

    def __init__(self) -> None:
        self.here = False  # whether workers were lost twice, and jobs stay in this process
        self._losses = 0

    def answers(self, workers: Callable[[], Answer], here: Callable[[], Answer], renew: Renew = lambda: None) -> Answer:
        """What ``workers`` returns; after a loss ``renew`` makes new workers, and ``here`` does the jobs without."""
        while not self.here:
            try:
                return workers()
            except lost() as error:
                self._losses += 1
                self.here = self._losses > 1
                by = "in this process" if self.here else "by new ones"
                warnings.warn(
                    f"Workers were lost ({type(error).__name__}), killed or out of memory; their jobs are done again "
                    f"{by}, with the same result. Ask for fewer workers if memory ended.",
                    RuntimeWarning,
                    stacklevel=3,
                )
                renew()
        return here()
