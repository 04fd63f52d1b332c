"""RoBiRank without features: vectors of users and items, from a log."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from rerank.io.options import drawn_seed, whole
from rerank.latent.engines.blocks import VALIDATION, seed_of
from rerank.latent.engines.interface import Factors, Settings
from rerank.latent.log import Log, cut, log_of, some_users
from rerank.latent.options import (
    alpha_for,
    check,
    check_still,
    count_in,
    number_in,
    plan_of,
    settings_of,
    shards_for,
)  # fmt: skip
from rerank.latent.progress import Progress
from rerank.latent.recommender import Recommender
from rerank.latent.start import Begun, advice_for, check_logs, engine_of, grown
from rerank.latent.storage.checkpoint import Checkpoint, identity, seed_in
from rerank.latent.storage.lock import alone
from rerank.latent.training import complain, train


class LatentRoBiRank(Recommender, BaseEstimator):
    r"""Users and items as vectors whose products rank a user's items at the top [YunRamanVishwanathan2014, sec. 4].

    Over the records (x, y) of the log, with scores ``f_xy = U_x . V_y`` and ``s(t) = log2(1 + 2^-t)``, fitting lowers

        sum log2(1 + sum_{y' != y} s(f_xy - f_xy')) + alpha/2 sum (|U_x|^2 + |V_y|^2 / 2 + mean_{y' != y} |V_y'|^2).

    Parameters
    ----------
    n_factors : int, default 32
    loss : {"robirank", "warp"}, default "robirank"
        "warp" takes the steps of Weston et al. instead, see :mod:`rerank.latent.kernels.warp`.
    alpha : float, optional
        Strength of the penalty, which grows with the number of records, as the loss does. Without it, 5 over the
        mean number of records of a user, 0.15 at most: near the best of three logs' validation parts.
    learning_rate : float, default 0.3
        Root mean square of a row's first step, with AdaGrad.
    decay : float, default 10.0
        Epochs after which steps are half as long; in epoch e they are shorter by ``1 + (e - 1) / decay``, besides what
        AdaGrad does.
    optimizer : {"adagrad", "sgd"}, default "adagrad"
        "sgd" takes steps of fixed length, which are easily too long.
    n_epochs : int, default 40
        Each visits every record ``n_passes`` times.
    n_negatives : int, default 200
        Items y' that the records of a visit share; "warp" gives up a record after as many draws.
    visit_size : int, default 8
        Records of a user that are visited together.
    popular : float, default 0.7
        Share of the items y' drawn by popularity, >= 0 and < 1; weights make up for it.
    init_scale : float, default 0.02
        Standard deviation of the first vectors.
    n_passes : int, default 1
        Visits of a record for each xi-step.
    xi : {"auto", "exact", "chebyshev", "sampled"}, default "auto"
        Sum over items of the xi-step, see :mod:`rerank.latent.kernels.xi`; "auto" samples large catalogues and takes
        polynomials for users with many records.
    xi_samples : int, default 2000
        Items of a sample.
    block_bytes : int, default 2 ** 22
        Item vectors that are worked on together; they should fit into the cache of a core.
    n_shards : int, optional
        Shards of users, and blocks of items. Another number gives other random steps, so the default depends on
        the log alone: up to 4.
    engine : {"local", "ray"}, default "local"
        Threads of this process, or actors of Ray: on the cluster that this process is connected to or that
        ``RAY_ADDRESS`` names, else on one of its own. Neither changes a bit of the result.
    n_jobs : int, optional
        Threads, or cores of a Ray that is started; all cores without it.
    validation_fraction : float, default 0.0
        Share of each user's records that is held out to stop early. None are without it, unless ``fit`` is given some.
    evaluate_every, patience : int, default 5 and 3
        Epochs between looks at the validation's precision, and looks without a better one before training ends.
    validation_k : int, default 10
        Items that the precision looks at.
    validation_users : int, default 10000
        Users that are looked at, drawn at random where the validation part has more, so that a look at a large log is
        short beside its epochs.
    checkpoint : path, optional
        Folder of its own in which ``fit`` writes down where it is. Called again with the same data and options,
        after its process has died, it goes on from there and ends with the same bits; a run that had ended gives its
        result at once. Without ``random_state`` the seed is that of the folder.
    checkpoint_every : int, default 1
        Epochs between checkpoints.
    random_state : int, RandomState or None
    verbose : int, default 0
        1 writes a line to standard error at each look.

    Attributes
    ----------
    user_factors_ : float32 (n_users, n_factors)
        Users without records, or with none but in the validation part, have the mean of the others.
    item_factors_ : float32 (n_items, n_factors)
    alpha_ : float
        That was used.
    n_epochs_ : int
        At which the factors that were kept were found.
    history_ : list of dict
        :class:`rerank.latent.progress.Look` by look.
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
        self.n_factors = n_factors
        self.loss = loss
        self.alpha = alpha
        self.learning_rate = learning_rate
        self.decay = decay
        self.optimizer = optimizer
        self.n_epochs = n_epochs
        self.n_negatives = n_negatives
        self.visit_size = visit_size
        self.popular = popular
        self.init_scale = init_scale
        self.n_passes = n_passes
        self.xi = xi
        self.xi_samples = xi_samples
        self.block_bytes = block_bytes
        self.n_shards = n_shards
        self.engine = engine
        self.n_jobs = n_jobs
        self.validation_fraction = validation_fraction
        self.evaluate_every = evaluate_every
        self.patience = patience
        self.validation_k = validation_k
        self.validation_users = validation_users
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, log: Any, validation: Any = None) -> LatentRoBiRank:
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
            checkpoint of another run, which is left as it was, or one that another process is at.
        SolverError
            Where a vector grew beyond all bounds before the first look (after that, a warning says so), or workers
            of the engine were lost time and again.

        Notes
        -----
        After an error the model is what it was before.
        """
        check(self)
        given = learnt = log_of(log)
        begun = self._afresh(self.checkpoint)
        if validation is None and self.validation_fraction > 0:
            share = number_in(self, "validation_fraction")
            validation, learnt = cut(given, (share,), seed_of(begun.seed, VALIDATION))
        self._train(begun, learnt, validation, count_in(self, "n_epochs"), self.checkpoint)
        if learnt is not given:
            self._learnt_from(learnt, given)
        return self

    def partial_fit(self, log: Any, n_epochs: int = 1, validation: Any = None) -> LatentRoBiRank:
        """Go on for some epochs, from the factors as they are, with a log that takes the place of the old one.

        The log may have more users and items than before, behind those of before. With the same log, epochs add up:
        one call with 4 leaves the same bits as two calls with 2. Writes no checkpoints.

        Raises
        ------
        InputError
            As in :meth:`fit`; for a log that lacks users or items the model knows, and for another ``n_factors`` or
            ``n_shards`` than the model was trained with.
        SolverError, ConvergenceWarning
            As in :meth:`fit`.
        """
        epochs = whole("n_epochs", n_epochs)
        check(self)
        begun = self._afresh()
        if hasattr(self, "_factors"):
            check_still(self, self._factors.V.shape[1], self._n_shards)
            begun = Begun(self._seed, self._n_shards, self.n_epochs_, self.history_, self._factors)
        return self._train(begun, log_of(log), validation, epochs)

    def _afresh(self, folder: str | os.PathLike[str] | None = None) -> Begun:
        seed = drawn_seed(self.random_state)
        if folder is not None and self.random_state is None:
            earlier = seed_in(folder)
            seed = seed if earlier is None else earlier
        nobody = np.empty((0, count_in(self, "n_factors")), np.float32)
        nothing = np.empty(0, np.float32)
        return Begun(seed, None, 0, [], Factors(nobody, nobody, nothing, nothing))

    def _train(
        self,
        begun: Begun,
        log: Log,
        validation: Any,
        n_epochs: int,
        folder: str | os.PathLike[str] | None = None,
    ) -> LatentRoBiRank:
        held_out = None if validation is None else log_of(validation, "validation")
        n_shards = begun.n_shards or count_in(self, "n_shards") or shards_for(log.n_records, log.n_items)
        check_logs(log, held_out, begun.factors, n_shards)
        if held_out is not None:
            n = count_in(self, "validation_users")
            held_out = some_users(held_out, n, seed_of(begun.seed, VALIDATION, 1))
        alpha = alpha_for(log) if self.alpha is None else number_in(self, "alpha")
        settings, plan = settings_of(self, alpha, n_shards, begun.seed), plan_of(self, n_epochs)
        scale, keeper = number_in(self, "init_scale"), None
        if folder is not None:
            run = identity(log, held_out, settings, plan, scale, count_in(self, "n_factors"))
            keeper = Checkpoint(folder, run)
        engine = engine_of(self.engine, count_in(self, "n_jobs") or None, advice_for(folder))
        with nullcontext() if folder is None else alone(folder):
            found = train(
                engine, log,
                # The first vectors have no name here, so that training can let go of them.
                grown(begun.factors, log.n_users, log.n_items, scale, begun.seed),
                settings, plan, begun.epoch + 1, held_out, keeper,
            )  # fmt: skip
        self._keep(begun, settings, found, log)
        return self

    def _keep(self, begun: Begun, settings: Settings, found: Progress, log: Log) -> None:
        complain(found, f"learning_rate={self.learning_rate} is too large for {self.optimizer!r}; lower it.")
        self._seed, self._n_shards, self.alpha_ = settings.seed, settings.n_shards, settings.alpha
        self._factors = found.best
        self.n_epochs_, self.stopped_ = found.best_epoch, found.stopped
        self.history_ = begun.looks + found.looks
        self._learnt_from(log, log)
