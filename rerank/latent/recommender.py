"""What a trained model offers: recommendations, scores, similar items, and a folder to be saved in."""

import numbers
import os
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from rerank.errors import InputError
from rerank.io.page import Cells, Part, ShownMixin, Words
from rerank.latent.engines.interface import Factors
from rerank.latent.evaluation import top_items
from rerank.latent.log import Log
from rerank.latent.storage import locked, plain, read, write

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


LAST = 8  # evaluations that are shown, the last ones

ENDS = {
    "epochs": "Training ran all its epochs.",
    "validation": "Training stopped early: the validation part did not get better any more.",
    "interrupted": "Training was interrupted; it keeps what it had.",
    "diverged": "Training diverged; it keeps what it had before. A smaller learning_rate or a larger alpha may help.",
}


class Recommender(ShownMixin):
    """The methods of a trained model.

    ``_seen`` is the log that the model was given; ``_held_out`` are the users whose records in it are all in the
    validation part. :meth:`save` writes these and the other attributes.
    """

    _factors: Factors
    _seen: Log
    _held_out: Ints
    _seed: int
    _n_shards: int
    n_epochs_: int
    alpha_: float
    history_: list[dict[str, Any]]
    stopped_: str

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
        params = self.get_params()  # type: ignore[attr-defined]
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
