"""The estimator: a fast first stage shortlists, an exact fit orders the shortlist, a certificate checks the value.

>>> import numpy as np
>>> from rerank import Reranker
>>> X = np.array([[0.0, 3], [1, 1], [2, 2], [3, 0], [4, 4], [5, 1]])
>>> y = np.array([0, 0, 1, 0, 1, 1])
>>> est = Reranker(stat="auc", first_stage=None, solver="search").fit(X, y)
>>> est.result_.status, est.rank(X).tolist()
('optimal', [6, 5, 3, 4, 1, 2])
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from rerank.io.arrays import check_matrix
from rerank.ranks.row_gains import IdealGains, gain_of
from rerank.reranker.clock import Clock
from rerank.reranker.data import Weights, checked
from rerank.reranker.fit import enough_memory, fit
from rerank.reranker.programs import ProgramsMixin
from rerank.reranker.ranking import RankingMixin
from rerank.reranker.settings import check
from rerank.reranker.state import FittedState

if TYPE_CHECKING:
    from rerank.io import Table


class Reranker(RankingMixin, ProgramsMixin, BaseEstimator):
    """Fits a rank statistic of the top of a list exactly, with a bound on the value, margin and penalty included.

    Parameters
    ----------
    stat : str, RankStatistic, array or callable
        The statistic to maximise: ``"auc"``, ``"pauc@N"``, ``"wta"``, ``"precision@N"``, ``"window2@N"``, ``"mrr"``,
        ``"dcg"``, ``"dcg@N"``, ``"ndcg@N"``, ``"pnorm@P"``, ``"recall@N"``, ``"rbp@P"``, ``"ap"``, ``"rr"``,
        ``"success@N"``, coefficients ``a_1..a_n`` or a function of (rank, length).
    first_stage : str, estimator or None
        Orders the whole list and cuts the shortlist: ``"logistic"``, ``"toppush"``, ``"ranksvm"``, ``"robirank"`` or
        any scikit-learn estimator. A fitted estimator is used as it is (wrap it in
        ``sklearn.frozen.FrozenEstimator``, so that ``clone`` keeps it). With None every row is a candidate.
    n_candidates : int, "auto" or None
        K, the number of rows of each list that are reranked; rows that share the score at the cut are reranked too.
        None is all rows. "auto" is all rows of lists of up to 2,000 rows, and of lists of any length if every place
        counts in the statistic; else ``max(2 N, 50)`` for a statistic of N places.
    formulation : {"auto", "subrank", "resolved_rank", "mixed", "auc", "pairwise"}
        The mathematical program for the solver. "auto" is "auc" for AUC and "mixed" for any other statistic: the
        programs whose optimum is the problem's, so that the solver's bound counts.
    solver : str
        ``"highs"`` (after a presolve in weight space), ``"search"`` (weight space only, no model is built), ``"none"``
        (states the problem and solves nothing, for :meth:`export_mps`), or another solver that is installed: ``"cbc"``,
        ``"scip"``, ``"glpk"``, ``"gurobi"``, ...
    presolve : bool
        Run the search first; with False the solver gets the plain program.
    time_limit : float or None
        Seconds for ``fit``, compiling not counted. A first stage that is not of this package runs to its end.
    node_limit : int or None
        Boxes of the search, and nodes of a solver, after which each stops: at the same place on every run.
    epsilon : float or "auto"
        Margin by which a relevant row has to beat another, in units of the scaled score.
    C : float
        Penalty for each feature with a weight, in the unit of the statistic.
    max_features : int or None
        At most this many features get a weight.
    positive : bool or sequence of {-1, 0, 1}
        True for non-negative weights; or a sign for each feature, 0 for a free weight.
    gain : {"exponential", "linear"}
        Gain of a grade g: ``2^g - 1`` or ``g``; binary statistics, such as "ap", take 1 for every grade above 0.
    pos_label : object, optional
        The label of the rows to find, if ``y`` holds two labels that are neither 0 and 1 nor -1 and 1.
    thinning : float or None
        Fit the statistic averaged over lists in which each row above is kept with this probability.
    proof : bool
        Record how the search split the weights into boxes: ``result_.proof``. It can be saved and checked
        (``docs/proofs.md``). With correlated features the search takes longer then.
    checkpoint : path or None
        A file for the state of the search, from which the same fit goes on after its process has died.
    n_jobs : int or None
        Cores of the search and threads of HiGHS; None for 1, -1 for all.
    random_state : int, RandomState or None
        Seed; None is 0. Two fits give the same result, unless ``time_limit`` ends them.
    verbose : int
        1 for a live line while HiGHS works, 2 for its log.

    Attributes
    ----------
    result_ : Result
        Statistic, value, bound, gap, status and further numbers of the fit.
    coef_ : float64 array (n_features_in_,)
        Weights of the head's score in original units; those of the first stage if it is kept and affine.
    features_ : array
        Columns with a weight: names if the data had names, else indices.
    first_stage_ : estimator or None
    threshold_ : float
        Least first-stage score of the head; ``-inf`` if every row is in the head. After a fit on several lists as many
        training rows reach it as all heads have, which only approximates the K best rows of each list.
    reranks_ : bool
        False if the first stage is kept as it is.
    state_ : FittedState
        All of this as one frozen object, which files store.
    """

    def __init__(
        self,
        stat: Any = "dcg@10",
        *,
        first_stage: Any = "logistic",
        n_candidates: int | str | None = "auto",
        formulation: str = "auto",
        solver: str = "highs",
        presolve: bool = True,
        time_limit: float | None = 60.0,
        node_limit: int | None = None,
        epsilon: float | str = "auto",
        C: float = 0.0,
        max_features: int | None = None,
        positive: Any = False,
        gain: str = "exponential",
        pos_label: Any = None,
        thinning: float | None = None,
        proof: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.stat = stat
        self.first_stage = first_stage
        self.n_candidates = n_candidates
        self.formulation = formulation
        self.solver = solver
        self.presolve = presolve
        self.time_limit = time_limit
        self.node_limit = node_limit
        self.epsilon = epsilon
        self.C = C
        self.max_features = max_features
        self.positive = positive
        self.gain = gain
        self.pos_label = pos_label
        self.thinning = thinning
        self.proof = proof
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
        ideal_gains: IdealGains = None,
    ) -> Reranker:
        """Fit first stage and reranking.

        Parameters
        ----------
        X : array-like or data frame (n, d)
        y : array-like (n,)
            0/1, -1/1, booleans, or grades from 0 upwards, 0 irrelevant; two other labels take ``pos_label``.
        qid : array-like (n,), optional
            List of each row, in any order; one list without it.
        sample_weight : array-like (n,), optional
            Multiplies the gain of a row; 0 or 1 for "ap", "rr" and "success@N".
        query_weight : mapping from list id to weight, or array-like (n,), optional
            Weight of each list in the mean over lists.
        ideal_gains : mapping from list id to grades, optional
            Grades of relevant items of a list that are not among its rows, because they were not retrieved. They count
            in what nDCG, AUC, AP and recall are divided by, and are never candidates. A list whose relevant items were
            all missed counts 0. Without ``qid`` the id of the only list is 0.

        Raises
        ------
        InputError
            For data or parameters that cannot be used.
        CertificateError
            If a solver's claim fails the exact recomputation.
        """
        return self._fit_named(X, y, qid, sample_weight, query_weight, ideal_gains)

    def _fit_named(
        self, X: Any, y: Any, qid: Any, sample_weight: Any, query_weight: Weights, ideal_gains: IdealGains,
        names: tuple[str, ...] = (),
    ) -> Reranker:  # fmt: skip
        """Fit columns with these ``names``, unless X has names of its own."""
        with enough_memory():
            clock = Clock(self.time_limit)
            table = check_matrix(X)
            validate_data(self, X, y, reset=True, skip_check_array=True)
            frame = hasattr(self, "feature_names_in_")
            known = tuple(map(str, self.feature_names_in_)) if frame else names
            columns = known or tuple(f"x{j}" for j in range(table.shape[1]))
            gain = gain_of(self.stat, self.gain, sample_weight)
            given = (y, qid, sample_weight, query_weight, gain, columns, self.pos_label, ideal_gains)
            data, weights = checked(table, *given)
            options = self.get_params(deep=False)
            fitted = fit(data, check(options, table.shape[1]), options, clock, weights)
            return self._adopt(replace(fitted, frame=frame, named=bool(known)))

    def _adopt(self, state: FittedState) -> Reranker:
        """Take over a fitted state and set the public attributes."""
        self.state_ = state
        self.first_stage_ = None if state.first_stage is None else state.first_stage.estimator
        self.threshold_ = state.threshold
        self.reranks_ = state.reranks
        self.result_ = state.result
        self.coef_, used = state.coef, np.flatnonzero(state.coef)
        self.features_ = np.array(state.feature_names, dtype=object)[used] if state.named else used
        return self


def load(path: str | os.PathLike[str], first_stage: Any = None) -> Reranker:
    """A fitted :class:`Reranker` from a file written by :meth:`Reranker.save`; it can rank, score and save, no more.

    Parameters
    ----------
    path : path
    first_stage : fitted estimator, optional
        Needed if the model's first stage was not affine in the features.
    """
    from rerank.reranker.files.document import load as read

    return restored(read(path, first_stage))


def restored(state: FittedState) -> Reranker:
    """The estimator of a fitted state."""
    est = Reranker(**state.options)
    est.n_features_in_ = len(state.feature_names)
    if state.frame:
        est.feature_names_in_ = np.array(state.feature_names, dtype=object)
    return est._adopt(state)


def fit_table(est: Reranker, table: Table) -> Reranker:
    """Fit on a table read from a file, whose columns have names."""
    return est._fit_named(
        table.X, table.y, table.qid, table.sample_weight, None, table.ideal_gains, table.feature_names
    )
