"""The loop around an engine: epochs, validation, checkpoints, and stopping without losing anything."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Protocol

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from rerank.errors import SolverError
from rerank.latent.engines.interface import Engine, Factors, Settings, Step
from rerank.latent.evaluation import evaluate
from rerank.latent.log import Log
from rerank.latent.progress import Plan, Progress


class Keeper(Protocol):
    """Whoever keeps checkpoints."""

    def resume(self, start: Factors) -> Progress | None:
        """Where an earlier run came to, if there was one."""

    def keep(self, run: Progress) -> None:
        """Write down where training is."""


def train(
    engine: Engine,
    log: Log,
    start: Factors,
    settings: Settings,
    plan: Plan,
    first: int,
    validation: Log | None,
    keeper: Keeper | None = None,
) -> Progress:
    """Run epochs ``first``, ``first + 1``, ...; Ctrl-C ends them and keeps what was found.

    With a ``keeper`` that knows an earlier run, training goes on from there and ends with the same bits.
    """
    run = keeper.resume(start) if keeper else None
    run = run or Progress(start, first - 1, start, first - 1)
    del start  # A sixth of the memory, once there is something better.
    if run.stopped:
        return run
    began = time.monotonic() - run.seconds
    epoch = run.epoch
    engine.prepare(log, run.factors, settings)
    try:
        while not run.stopped:
            epoch = run.epoch + 1
            while not _due(epoch, first, plan, keeper is not None):
                _epoch(engine, settings, epoch)
                epoch += 1
            _epoch(engine, settings, epoch)
            run.factors = run.best  # Those of before make room.
            run.take(engine.collect(), epoch)
            run.seconds = time.monotonic() - began
            if not run.stopped:
                _look(run, plan, first, log, validation)
                if keeper:
                    keeper.keep(run)
    except KeyboardInterrupt:
        run.stopped = "interrupted"
        _keep_interrupted(engine, run, epoch, validation)
    finally:
        engine.close()
    return run


def _epoch(engine: Engine, settings: Settings, epoch: int) -> None:
    for t in range(settings.n_shards):
        engine.xi_step(Step(epoch, t))
        engine.sub_epoch(Step(epoch, t))


def _due(epoch: int, first: int, plan: Plan, kept: bool) -> bool:
    """Whether factors are collected after an epoch."""
    done = epoch - first + 1
    return done % plan.every == 0 or done >= plan.epochs or (kept and done % plan.save_every == 0)


def _look(run: Progress, plan: Plan, first: int, log: Log, validation: Log | None) -> None:
    done = run.epoch - first + 1
    if done % plan.every and done < plan.epochs:
        return
    seen = run.look(_precision(run.factors, log, validation, plan.k), plan.patience)
    if plan.verbose:
        print(seen, file=sys.stderr, flush=True)
    if done >= plan.epochs and not run.stopped:
        run.stopped = "epochs"


def _precision(factors: Factors, log: Log, validation: Log | None, k: int) -> float | None:
    if validation is None:
        return None
    scores: Callable[..., object] = lambda users: factors.U[users] @ factors.V.T  # noqa: E731
    # As many threads as a shard has: otherwise the last bits of a score, and with them where training stops, would
    # depend on the machine.
    with threadpool_limits(1, "blas"):
        return evaluate(scores, validation, min(k, log.n_items), log).means()["precision"]


def _keep_interrupted(engine: Engine, run: Progress, epoch: int, validation: Log | None) -> None:
    """Without a validation, or before its first look, the newest factors are the best there are."""
    if validation is None or not run.looks:
        run.take(engine.collect(), epoch)
        if run.stopped != "diverged":
            run.best, run.best_epoch = run.factors, epoch


def complain(found: Progress, advice: str) -> None:
    """Say that training diverged, if so: an error where there is nothing to keep, else a warning."""
    if found.stopped != "diverged":
        return
    if found.best_epoch == 0:
        raise SolverError(f"Vectors grew beyond all bounds before the first look: {advice}")
    warnings.warn(
        f"Vectors grew beyond all bounds; those of epoch {found.best_epoch} are kept: {advice}",
        ConvergenceWarning,
        stacklevel=5,
    )
