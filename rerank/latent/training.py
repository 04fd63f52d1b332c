"""The loop around an engine: epochs, evaluations, checkpoints, and an end that loses nothing."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from rerank.errors import SolverError
from rerank.errors.telling import say
from rerank.latent.engines.interface import Engine, Factors, Settings, Step
from rerank.latent.evaluation import evaluate
from rerank.latent.log import Log
from rerank.latent.progress import Progress

if TYPE_CHECKING:
    from rerank.latent.storage.checkpoint import Checkpoint


def train(
    engine: Engine,
    log: Log,
    start: Factors,
    settings: Settings,
    first: int,
    validation: Log | None,
    checkpoint: Checkpoint | None = None,
) -> Progress:
    """Run epochs ``first``, ``first + 1``, ...; Ctrl-C ends them and keeps what was found.

    If ``checkpoint`` holds an earlier run, training goes on from there and ends with the same bits.
    """
    run = checkpoint.resume(start) if checkpoint else None
    run = run or Progress(start, first - 1, start, first - 1)
    del start  # Frees a sixth of the memory as soon as there are better factors.
    if run.stopped:
        return run
    began = time.monotonic() - run.seconds
    epoch = run.epoch
    engine.prepare(log, run.factors, settings)
    try:
        while not run.stopped:
            epoch = run.epoch + 1
            while not _due(epoch, first, settings, checkpoint is not None):
                _epoch(engine, settings, epoch)
                epoch += 1
            _epoch(engine, settings, epoch)
            run.factors = run.best  # Frees the memory of the older factors before new ones are collected.
            run.update(engine.collect(), epoch)
            run.seconds = time.monotonic() - began
            if not run.stopped:
                _evaluate_if_due(run, settings, first, log, validation)
                if checkpoint:
                    checkpoint.save(run)
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


def _due(epoch: int, first: int, s: Settings, saved: bool) -> bool:
    """Whether factors are collected after an epoch."""
    done = epoch - first + 1
    return done % s.evaluate_every == 0 or done >= s.n_epochs or (saved and done % s.checkpoint_every == 0)


def _evaluate_if_due(run: Progress, s: Settings, first: int, log: Log, validation: Log | None) -> None:
    done = run.epoch - first + 1
    if done % s.evaluate_every and done < s.n_epochs:
        return
    entry = run.evaluated(_precision(run.factors, log, validation, s.validation_k), s.patience)
    if s.verbose:
        say(str(entry))
    if done >= s.n_epochs and not run.stopped:
        run.stopped = "epochs"


def _precision(factors: Factors, log: Log, validation: Log | None, k: int) -> float | None:
    if validation is None:
        return None
    scores: Callable[..., object] = lambda users: factors.U[users] @ factors.V.T  # noqa: E731
    # One thread, as in a shard. With more, the last bits of a score, and so the epoch at which training stops, would
    # depend on the machine.
    with threadpool_limits(1, "blas"):
        return evaluate(scores, validation, min(k, log.n_items), log).means()["precision"]


def _keep_interrupted(engine: Engine, run: Progress, epoch: int, validation: Log | None) -> None:
    """Without a validation part, or before the first evaluation, keep the newest factors as the best."""
    if validation is None or not run.history:
        run.update(engine.collect(), epoch)
        if run.stopped != "diverged":
            run.best, run.best_epoch = run.factors, epoch


def report_divergence(run: Progress, settings: Settings) -> None:
    """If training diverged, raise an error if there is nothing to keep, else warn."""
    if run.stopped != "diverged":
        return
    advice = f"learning_rate={settings.learning_rate} is too large for {settings.optimizer!r}; lower it."
    if run.best_epoch == 0:
        raise SolverError(f"Vectors grew beyond all bounds before the first evaluation: {advice}")
    warnings.warn(
        f"Vectors grew beyond all bounds; those of epoch {run.best_epoch} are kept: {advice}",
        ConvergenceWarning,
        stacklevel=4,
    )
