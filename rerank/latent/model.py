"""RoBiRank without features: vectors of users and items, learnt from a log."""

import os
from contextlib import nullcontext
from typing import Any, Self

from sklearn.base import BaseEstimator

from rerank.io.options import drawn_seed, whole
from rerank.latent import options
from rerank.latent.engines import engine_of
from rerank.latent.engines.interface import VALIDATION, Factors, seed_of
from rerank.latent.log import Log, cut, log_of, some_users
from rerank.latent.options import check_logs, extended
from rerank.latent.recommender import Recommender
from rerank.latent.storage import locked
from rerank.latent.training import Checkpoint, identity, report_divergence, seed_in, train


class LatentRoBiRank(Recommender, BaseEstimator):
    r"""Vectors of users and items whose products rank the right items on top [YunRamanVishwanathan2014, sec. 4].

    Over the records (x, y) of the log, with scores ``f_xy = U_x . V_y`` and ``s(t) = log2(1 + 2^-t)``, fitting lowers::

        sum log2(1 + sum_{y' != y} s(f_xy - f_xy')) + alpha/2 sum (|U_x|^2 + |V_y|^2 / 2 + mean_{y' != y} |V_y'|^2).

    Parameters
    ----------
    n_factors : int, default 32
    loss : {"robirank", "warp"}, default "robirank"
        "warp" is the loss of Weston et al. instead, see :mod:`rerank.latent.kernels.steps`.
    alpha : float, optional
        Strength of the penalty, which grows with the number of records, as the loss does. Default: 5 over the mean
        number of records of a user, at most 0.15, which was near the best on the validation parts of three logs.
    learning_rate : float, default 0.3
        Root mean square of a row's first step, with AdaGrad.
    decay : float, default 10.0
        Epochs after which steps are half as long: epoch e divides them by ``1 + (e - 1) / decay``, besides AdaGrad.
    optimizer : {"adagrad", "sgd"}, default "adagrad"
        "sgd" has steps of fixed length, which are easily too long.
    n_epochs : int, default 40
        Each visits every record ``n_passes`` times.
    n_negatives : int, default 200
        Items y' that the records of a visit share; "warp" skips a record after so many draws.
    visit_size : int, default 8
        Records of a user that are visited together, at most.
    popular : float, default 0.7
        Share of the items y' drawn by popularity, >= 0 and < 1; importance weights correct for it.
    init_scale : float, default 0.02
        Standard deviation of the numbers in the first vectors.
    n_passes : int, default 1
        How often a record is visited after each xi-step.
    xi : {"auto", "exact"}, default "auto"
        How the xi-step sums over items: "auto" over a sample where that saves at least half of the work, "exact" over
        all items of the block, which with ``n_shards=1`` alone are all items; see :mod:`rerank.latent.kernels.xi`.
    xi_samples : int, default 2000
        Items in a sample.
    block_bytes : int, default 2 ** 22
        Bytes of the item vectors that are used together; they should fit into the cache of a core.
    n_shards : int, optional
        Shards of users, and blocks of items. The random steps depend on it. Default: up to 4, by the log alone.
    engine : {"local", "ray"}, default "local"
        Threads of this process, or actors of Ray: on the cluster that this process is connected to or that
        ``RAY_ADDRESS`` names, else on a new one. The result has the same bits.
    n_jobs : int, optional
        Threads, or cores of a new Ray cluster; default: all cores.
    validation_fraction : float, default 0.0
        Share of each user's records that is held out to stop early, unless ``fit`` gets a validation part.
    evaluate_every, patience : int, default 5 and 3
        Epochs between evaluations, and evaluations without a better precision on the validation part before the end.
    validation_k : int, default 10
        Items in the top of the list whose precision is measured.
    validation_users : int, default 10000
        Users in an evaluation, drawn at random if there are more: all users of a large log take longer than an epoch.
    checkpoint : path, optional
        Folder, used for nothing else, in which ``fit`` saves its state. If the process dies, the same call of ``fit``
        goes on from there and ends with the same bits; if it had ended, it gives the result at once. Without
        ``random_state`` the seed is that of the folder.
    checkpoint_every : int, default 1
        Epochs between checkpoints.
    random_state : int, RandomState, Generator or None
    verbose : int, default 0
        1 writes a line to standard error at each evaluation.

    Attributes
    ----------
    user_factors_ : float32 (n_users, n_factors)
        Users without records in training have the mean of the others.
    item_factors_ : float32 (n_items, n_factors)
    alpha_ : float
        The penalty that was used.
    n_epochs_ : int
        The epoch of the factors that were kept.
    history_ : list of dict
        A :class:`rerank.latent.training.HistoryEntry` for each evaluation.
    stopped_ : str
        "epochs", "validation", "interrupted" or "diverged".

    Notes
    -----
    For one seed and ``n_shards`` the result has the same bits whatever ``n_jobs`` and ``engine``, on the same machine.
    """

    def __init__(
        self,
        n_factors: int = 32,
        *,
        loss: str = "robirank",
        alpha: float | None = None,
        learning_rate: float = 0.3,
        decay: float = 10.0,
        optimizer: str = "adagrad",
        n_epochs: int = 40,
        n_negatives: int = 200,
        visit_size: int = 8,
        popular: float = 0.7,
        init_scale: float = 0.02,
        n_passes: int = 1,
        xi: str = "auto",
        xi_samples: int = 2000,
        block_bytes: int = 2**22,
        n_shards: int | None = None,
        engine: str = "local",
        n_jobs: int | None = None,
        validation_fraction: float = 0.0,
        evaluate_every: int = 5,
        patience: int = 3,
        validation_k: int = 10,
        validation_users: int = 10_000,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_factors, self.loss, self.alpha = n_factors, loss, alpha
        self.learning_rate, self.decay, self.optimizer, self.n_epochs = learning_rate, decay, optimizer, n_epochs
        self.n_negatives, self.visit_size, self.popular, self.init_scale = n_negatives, visit_size, popular, init_scale
        self.n_passes, self.xi, self.xi_samples, self.block_bytes = n_passes, xi, xi_samples, block_bytes
        self.n_shards, self.engine, self.n_jobs = n_shards, engine, n_jobs
        self.validation_fraction, self.evaluate_every, self.patience = validation_fraction, evaluate_every, patience
        self.validation_k, self.validation_users = validation_k, validation_users
        self.checkpoint, self.checkpoint_every = checkpoint, checkpoint_every
        self.random_state, self.verbose = random_state, verbose

    def fit(self, log: Any, validation: Any = None) -> Self:
        """Learn from a log.

        Parameters
        ----------
        log : sparse matrix (n_users, n_items)
            Counts or ones.
        validation : sparse matrix (n_users, n_items), optional
            Records to stop early by, none of them in ``log``.

        Raises
        ------
        InputError
            For options out of range, a log or a validation part without records or with negative or NaN counts, a
            checkpoint of another run, which is left as it was, or one that another process uses.
        SolverError
            If a vector grew beyond all bounds before the first evaluation (after that it is a warning), or workers of
            the engine were lost again and again.

        Notes
        -----
        After an error the model is what it was before.
        """
        chosen = options.checked(self)
        given = learnt = log_of(log)
        seed = drawn_seed(self.random_state)
        if self.checkpoint is not None and self.random_state is None:
            seed = seed_in(self.checkpoint, seed)
        share = chosen["validation_fraction"]
        if validation is None and share > 0:
            validation, learnt = cut(given, (share,), seed_of(seed, VALIDATION))
        self._train(learnt, validation, chosen, seed, Factors.none(chosen["n_factors"]), 0, [], self.checkpoint)
        if learnt is not given:
            self._learnt_from(learnt, given)
        return self

    def partial_fit(self, log: Any, n_epochs: int = 1, validation: Any = None) -> Self:
        """Train the current factors for some more epochs on a log, which replaces the old one.

        The log may have more users and items than before, after the old ones. With the same log, epochs add up: one
        call with 4 epochs gives the same bits as two calls with 2. No checkpoints are written.

        Raises
        ------
        InputError
            As in :meth:`fit`; for a log without all users and items that the model knows, and for another
            ``n_factors`` or ``n_shards`` than the model was trained with.
        SolverError, ConvergenceWarning
            As in :meth:`fit`.
        """
        epochs = whole("n_epochs", n_epochs)
        chosen = options.checked(self) | {"n_epochs": epochs}
        if hasattr(self, "_factors"):
            options.check_still(chosen, self._factors.V.shape[1], self._n_shards)
            chosen["n_shards"] = self._n_shards
            left = self._seed, self._factors, self.n_epochs_, self.history_
        else:
            left = drawn_seed(self.random_state), Factors.none(chosen["n_factors"]), 0, []
        self._train(log_of(log), validation, chosen, *left)
        return self

    def _train(
        self,
        log: Log,
        validation: Any,
        chosen: dict[str, Any],
        seed: int,
        known: Factors,
        epoch: int,
        history: list[dict[str, Any]],
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        """Go on from the factors that are known after an epoch; ``folder`` holds the checkpoints, if any are kept."""
        held_out = None if validation is None else log_of(validation, "validation")
        n_shards = chosen["n_shards"] or options.shards_for(log)
        check_logs(log, held_out, known, n_shards)
        if held_out is not None:
            held_out = some_users(held_out, chosen["validation_users"], seed_of(seed, VALIDATION, 1))
        settings = options.settings_of(chosen, log, n_shards, seed)
        saved = None if folder is None else Checkpoint(folder, identity(log, held_out, settings))
        advice = "check the memory of the machines, and set checkpoint to a folder, so that no epoch is run twice"
        if folder is not None:
            advice = f"check the memory of the machines and call fit again, which goes on from {os.fspath(folder)}"
        engine = engine_of(chosen["engine"], chosen["n_jobs"], advice)
        with nullcontext() if folder is None else locked(folder):
            # The first vectors have no name here, so that training can free them.
            found = train(engine, log, extended(known, log, settings), settings, epoch + 1, held_out, saved)
        report_divergence(found, settings)
        self._seed, self._n_shards, self.alpha_ = seed, n_shards, settings.alpha
        self._factors, self.n_epochs_, self.stopped_ = found.best, found.best_epoch, found.stopped
        self.history_ = history + found.history
        self._learnt_from(log, log)
