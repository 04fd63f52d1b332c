"""RoBiRank without features: vectors of users and items, learnt from a log; what they recommend, and their folder."""

import numbers
import os
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rerank.errors import InputError
from rerank.io.bounded import plain
from rerank.io.options import drawn_seed, whole
from rerank.io.page import Cells, Part, ShownMixin, Words
from rerank.latent import options
from rerank.latent.engines import engine_of
from rerank.latent.engines.interface import VALIDATION, Factors, seed_of
from rerank.latent.evaluation import top_items
from rerank.latent.log import Log, cut, log_of, some_users
from rerank.latent.options import check_logs, extended
from rerank.latent.penalty import penalty_of
from rerank.latent.storage import locked, read, write
from rerank.latent.training import RunFolder, identity, report_divergence, seed_in, train

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

Begun = tuple[int, Factors, int, list[dict[str, Any]]]  # seed, factors, the epoch after which they were, history

LAST = 8  # evaluations that are shown, the last ones

ENDS = {
    "epochs": "Training ran all its epochs.",
    "validation": "Training stopped early: the validation part did not get better any more.",
    "interrupted": "Training was interrupted; it keeps what it had.",
    "diverged": "Training diverged; it keeps what it had before. A smaller learning_rate or a larger alpha may help.",
}


class LatentRoBiRank(ShownMixin, BaseEstimator):
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
        number of records of a user, with a cap: two thirds of the penalty at which the last factor would vanish
        (:mod:`rerank.latent.penalty`), but no less than 0.15; with "warp" the cap is 0.15. ``partial_fit`` keeps it.
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
            Counts or ones, of rows of user and item ``scipy.sparse.coo_matrix((ones, (users, items)))``.
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
        self._train(learnt, validation, chosen, (seed, Factors.none(chosen["n_factors"]), 0, []), self.checkpoint)
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
            for name, was in (("n_factors", self._factors.V.shape[1]), ("n_shards", self._n_shards)):
                if chosen[name] not in (None, was):
                    raise InputError(
                        f"{name} is {chosen[name]!r}, but the model was trained with {was}; set it back to go on, or "
                        "call fit to begin anew."
                    )
            chosen["n_shards"] = self._n_shards
            if chosen["alpha"] is None:
                chosen["alpha"] = self.alpha_
            left = self._seed, self._factors, self.n_epochs_, self.history_
        else:
            left = drawn_seed(self.random_state), Factors.none(chosen["n_factors"]), 0, []
        self._train(log_of(log), validation, chosen, left)
        return self

    def _train(self, log: Log, validation: Any, chosen: dict[str, Any], begun: Begun, folder: Any = None) -> None:
        """Go on from what was ``begun``; ``folder`` holds the checkpoints, if any are kept."""
        seed, known, epoch, history = begun
        held_out = None if validation is None else log_of(validation, "validation")
        # Blocks with fewer items would be a poor sample of all.
        n_shards = chosen["n_shards"] or max(1, min(4, log.n_records // 50_000, log.n_items // 1000))
        check_logs(log, held_out, known, n_shards)
        if held_out is not None:
            held_out = some_users(held_out, chosen["validation_users"], seed_of(seed, VALIDATION, 1))
        settings = options.settings_of(chosen, n_shards, seed)
        if chosen["alpha"] is None:
            settings = replace(settings, alpha=penalty_of(log, settings))
        saved = None if folder is None else RunFolder(folder, identity(log, held_out, settings))
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

    def _parts(self) -> list[Part] | None:
        """Sizes, how training ended, and what each evaluation found."""
        if not hasattr(self, "_factors"):
            return None
        (users, factors), items = self.user_factors_.shape, len(self.item_factors_)
        size = f"{users:,} users, {items:,} items, {factors} factors; penalty {self.alpha_:.3g}."
        end = ENDS.get(self.stopped_, "")
        validated = any(entry["precision"] is not None for entry in self.history_)
        rows = [["epoch", "loss", *(["precision"] if validated else []), "seconds"]]
        for entry in self.history_[-LAST:]:
            mark = " *" if entry["epoch"] == self.n_epochs_ else ""
            precision = "-" if entry["precision"] is None else f"{entry['precision']:.4f}"
            middle = [f"{entry['loss']:.4f}", *([precision] if validated else [])]
            rows.append([f"{entry['epoch']}{mark}", *middle, f"{entry['seconds']:.1f}"])
        sides = ["left", *["right"] * (len(rows[0]) - 1)]
        told = " ".join(part for part in (size, end, "The factors are those of the epoch with a star.") if part)
        return [Words(told), Cells(rows, sides, named=True)]

    def recommend(self, users: ArrayLike, k: int = 10, exclude_seen: bool = True) -> tuple[Ints, Floats]:
        """The best items of some users.

        Parameters
        ----------
        users : int array (n,)
            Rows of the log.
        k : int, default 10
        exclude_seen : bool, default True
            Leave out the items that the user has in the log of ``fit``, with those held out by ``validation_fraction``.

        Returns
        -------
        items : int64 (n, k)
            Best first; -1 at the end where a user has fewer than ``k`` items left.
        scores : float32 (n, k)
            -inf for items -1.

        Raises
        ------
        InputError
            For users that the model does not know, or ``k`` larger than the number of items.
        """
        check_is_fitted(self, "user_factors_")
        known = self._checked(users, len(self.user_factors_), "users")
        seen = self._seen if exclude_seen else None
        return top_items(self.score_items, known, k, len(self.item_factors_), seen)

    def score_items(self, users: ArrayLike) -> Floats:
        """Scores of all items for some users (n,): float32 (n, n_items), larger is better."""
        check_is_fitted(self, "user_factors_")
        known = self._checked(users, len(self.user_factors_), "users")
        scores: Floats = self.user_factors_[known] @ self.item_factors_.T
        return scores

    def similar_items(self, items: ArrayLike, k: int = 10) -> tuple[Ints, Floats]:
        """The other items with the largest cosine of their vectors: items (n, k) and cosines (n, k), best first."""
        check_is_fitted(self, "user_factors_")
        V = self.item_factors_
        known = self._checked(items, len(V), "items")
        unit = V / np.maximum(np.linalg.norm(V, axis=1, keepdims=True), np.float32(1e-12))
        own = Log(np.arange(len(V) + 1, dtype=np.int64), np.arange(len(V), dtype=np.int32), len(V))
        return top_items(lambda some: unit[some] @ unit.T, known, k, len(V), own)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder, whole or not at all, without pickle.

        A ``random_state`` that is not a number is not saved, but the seed that was drawn from it is.

        Raises
        ------
        InputError
            The folder cannot be written, holds other files but no model, or another process writes to it.
        """
        check_is_fitted(self, "user_factors_")
        params = self.get_params()
        if not isinstance(params["random_state"], numbers.Integral):
            params["random_state"] = None
        state: dict[str, Any] = {"seed": self._seed, "n_shards": self._n_shards, "n_items": self._seen.n_items}
        state |= {"stopped": self.stopped_, "n_epochs": self.n_epochs_, "alpha": self.alpha_}
        fields = {"params": plain(params), "state": state, "history": plain(self.history_)}
        arrays: dict[str, NDArray[Any]] = dict(vars(self._factors))
        arrays |= {"log_indptr": self._seen.indptr, "log_items": self._seen.items}
        if self._held_out.size:
            arrays["held_out"] = self._held_out
        with locked(folder):
            write(folder, fields, arrays)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; more training gives the same bits as without saving.

        Raises
        ------
        InputError
            For a folder without a model, of another version, or damaged.
        """
        fields, arrays = read(folder)
        try:
            model = cls(**fields["params"])
            state = fields["state"]
            model._factors = Factors(*(arrays[name] for name in ("U", "V", "GU", "GV")))
            model._seen = Log(arrays["log_indptr"], arrays["log_items"], int(state["n_items"]))
            model._held_out = arrays.get("held_out", np.empty(0, dtype=np.int64))
            model._seed, model._n_shards = int(state["seed"]), int(state["n_shards"])
            model.n_epochs_, model.stopped_ = int(state["n_epochs"]), str(state["stopped"])
            model.alpha_ = float(state["alpha"])
            model.history_ = list(fields["history"])
            _check_shapes(model._factors, model._seen, model._held_out)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise InputError(
                f"{folder} holds a model that lacks a field, or one does not fit the others; save it again."
            ) from None
        model._set_public_factors()
        return model

    def _learnt_from(self, learnt: Log, given: Log) -> None:
        """Store the log that the model was given, and who has no records in the part that it learnt from."""
        self._seen = given
        self._held_out = np.flatnonzero((np.diff(learnt.indptr) == 0) & (np.diff(given.indptr) > 0))
        self._set_public_factors()

    def _set_public_factors(self) -> None:
        """Set the public factors. Users without records in training get the mean of the others."""
        known = np.diff(self._seen.indptr) > 0
        known[self._held_out] = False
        self.user_factors_: Floats = self._factors.U
        if not known.all():
            self.user_factors_ = self._factors.U.copy()
            self.user_factors_[~known] = self._factors.U.mean(axis=0, where=known[:, None])
        self.item_factors_: Floats = self._factors.V

    def _checked(self, given: ArrayLike, n: int, name: str) -> Ints:
        found = np.asarray(given)
        if found.ndim > 1 or (found.size and found.dtype.kind not in "iu"):
            raise InputError(f"{name} is of type {found.dtype} with {found.ndim} axes; give whole numbers, one axis.")
        found = np.atleast_1d(found).astype(np.int64)
        if found.size and (found.min() < 0 or found.max() >= n):
            raise InputError(
                f"{name} holds {int(found.max()) if found.max() >= n else int(found.min())}, but the model knows 0 to "
                f"{n - 1}; train it with a log that has them."
            )
        return found


def _check_shapes(factors: Factors, log: Log, held_out: Ints) -> None:
    """Raise ValueError unless arrays fit each other: compiled code reads them without looking at their ends."""
    n_users, n_items, ends = log.n_users, log.n_items, log.indptr
    kinds: list[tuple[Any, Any]] = [(M, np.float32) for M in vars(factors).values()]
    kinds += [(ends, np.int64), (log.items, np.int32), (held_out, np.int64)]
    d = factors.U.shape[1]
    shapes = (factors.U.shape, factors.V.shape, factors.GU.shape, factors.GV.shape)
    sound = (
        all(array.dtype == kind for array, kind in kinds)
        and all(array.ndim == 1 for array in (ends, log.items, held_out))
        and shapes == ((n_users, d), (n_items, d), (n_users,), (n_items,))
        and ends[0] == 0
        and ends[-1] == log.items.size
        and bool((np.diff(ends) >= 0).all())
        and all(not a.size or (a.min() >= 0 and a.max() < n) for a, n in ((log.items, n_items), (held_out, n_users)))
    )
    if not sound:
        raise ValueError("arrays of different shapes")
