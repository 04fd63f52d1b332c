"""The estimator: a fast first stage shortlists, an exact fit orders the shortlist, a certificate checks the value."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rerank.errors import InputError, InputWarning
from rerank.errors.stops import enough_memory
from rerank.errors.telling import of_kind
from rerank.io.options import of_today, without
from rerank.io.table import Table
from rerank.problem.lists import Floats, Indices
from rerank.ranks.row_gains import IdealGains
from rerank.reranker.clock import Clock
from rerank.reranker.data import Arguments, Weights, data_of
from rerank.reranker.describe import audit_of
from rerank.reranker.files import document, export
from rerank.reranker.fit import fit
from rerank.reranker.options import RENAMED, RerankerOptions, values_of
from rerank.reranker.pool import WeightPool, pool_of
from rerank.reranker.ranker import Ranker
from rerank.reranker.solution import UNUSED
from rerank.reranker.solve.program import chosen_formulation
from rerank.reranker.state import FittedState
from rerank.reranker.task import task_of
from rerank.search import statistic_bound

if TYPE_CHECKING:
    from rerank.scorecard import Frontier

GONE = {"thinning": "leave it out; a window or list_length also makes lower places count"}
"""Parameters of earlier versions, and what to use."""

PARTS = {"fit_parts": "fit", "scores_of_parts": "decision_function", "score_of_parts": "score"}
PARTS |= {"top_of_parts": "rank", "ranks_of_parts": "rank"}
"""Methods of earlier versions, for lists that came in parts, and what to call with a table."""


class Reranker(RerankerOptions, Ranker):
    """Fits a rank statistic of the top of a list exactly, with a bound on the value, margin and penalty included.

    Parameters
    ----------
    stat : str, RankStatistic, array or callable
        The statistic to maximise: ``"auc"``, ``"pairs"`` (also of real utilities), ``"pauc@N"``, ``"wta"``,
        ``"precision@N"``, ``"window2@N"``, ``"mrr"``, ``"dcg"``, ``"dcg@N"``, ``"ndcg@N"``, ``"pnorm@P"``,
        ``"recall@N"``, ``"rbp@P"``, ``"ap@N"``, ``"rr@N"``, ``"success@N"``, ``"pos@top"``, coefficients ``a_1..a_n``
        or a function of (rank, length).
    first_stage : str, estimator, callable, array or None
        Orders the whole list and cuts the shortlist: ``"logistic"``, which takes tables with texts and gaps, also with
        parts (``"logistic+squares+head20+balanced"``; ``"logistic+top3"`` is refitted on the three columns that matter
        most), ``"trees"`` (boosted), ``"forest"`` and ``"lambdarank"`` (of lists, by LightGBM where it is installed) of
        :class:`rerank.scorers.TableTrees`, ``"toppush"``, ``"ranksvm"``, ``"robirank"``, any scikit-learn estimator,
        pipeline or ranker (LightGBM, XGBoost, CatBoost), the name of a column that holds scores, a function from a
        table to scores, or one score for each training row. A list of such, as ``["logistic", "trees"]``, is their
        blend: weights from 0 on, learnt from out-of-fold scores. ``"auto"`` is logistic regression here, and
        :class:`RerankerCV` then tries trees, a forest and a blend, too.
        It gets X as it was given. A fitted estimator is used as it is (wrap it in ``sklearn.frozen.FrozenEstimator``,
        so that ``clone`` keeps it). With None every row is a candidate. Logistic regression knows two classes: for
        pairs of more labels ``"logistic"`` is RankSVM.
    n_candidates : int, "auto" or None
        K, the rows of each list that are reranked, and those that share the score at the cut. None is all rows. "auto"
        is all rows of lists of up to 2,000 rows (with a radius 500,000), and of any list if every place counts in the
        statistic; else ``max(2 N, 50)`` for a statistic of N places.
    formulation : {"auto", "subrank", "resolved_rank", "mixed", "auc", "pairwise", "pos_top"}
        The program for the solver. "auto" is the one of AUC, pairs and Pos@Top, else "mixed": their optimum is the
        problem's. One that is named is also solved where the search has proved its answer, as a second opinion.
    solver : str
        ``"highs"`` (after a presolve in weight space), ``"search"`` (weight space only, no model is built), ``"none"``
        (states the problem and solves nothing, for :meth:`export_mps`), or another solver that is installed: ``"cbc"``,
        ``"scip"``, ``"glpk"``, ``"gurobi"``, ...
    presolve : bool
        Run the search first; with False the solver gets the plain program.
    time_limit : float or None
        Seconds for ``fit``, compiling not counted. A fit of a first stage that is not of this package runs to its end.
        Where its folds do not end in time, it is kept as it is.
    node_limit : int or None
        Boxes of the search, and nodes of a solver, after which each stops. 0 is for good weights soon, without a proof.
    margin : float, str, Fraction or "auto"
        Margin by which a relevant row has to beat another: with a radius in deviations of the first stage's score, with
        ``normalise`` in units of the score, else in units of the scaled score. It is the rational that is written: .05
        and ``"1/20"`` are the same. "auto" and 0 are the smallest that solver and certificate support, 1e-4 or a little
        more.
    C : float
        Penalty for each feature with a weight, in the unit of the statistic.
    max_features : int or None
        At most this many columns get a weight. A first stage of this package that ranks by more is not kept, even where
        it is ahead of the best allowed weights; one that you give as a score, a function or an estimator is one column.
        With a radius, at most this many columns correct the first stage, which keeps its own; ``"logistic+top3"`` is
        one of three columns, and then these alone are corrected.
    positive : bool or sequence of {-1, 0, 1}
        True for non-negative weights; or a sign for each feature, 0 for a free weight.
    gain : {"exponential", "linear"}
        Gain of a grade g: ``2^g - 1`` or ``g``; binary statistics, such as "ap", take 1 for every grade above 0.
    pos_label : object, optional
        The label of the rows to find, if ``y`` holds two labels that are neither 0 and 1 nor -1 and 1.
    radius : float or None
        None fits free weights. A number fits corrections of the first stage's score: each column gets at most this
        weight, in deviations of the score for one deviation of the column. 0 is the first stage itself.
    prior : "auto", "equal" or array
        With ``first_stage=None`` and a radius, weights of the score to correct, by default one over each deviation.
    window : float or None
        Width c: fit hits around the depth N of the statistic, paid less and less from place N/c to place c N.
    list_length : int or None
        Rows of the lists to come, if not those of the training list.
    cross_fit : "auto", bool or int
        Whether first-stage scores of training rows are out-of-fold, by 5 folds or the number given. "auto": with a
        radius, and for estimators of others that are not fitted yet.
    features : None, names, numbers, mask, callable, transformer or "members"
        Columns that are reranked; the first stage sees all. None takes all. Gaps and texts are encoded as in
        :class:`rerank.scorers.TableLogistic`, as columns such as ``region = B`` and ``year is missing``. A transformer
        makes columns of the table, such as thresholds; :class:`rerank.scorers.Squares` is kept in files.
        "members", with a blend as first stage, searches the blend exactly: the columns are its members' out-of-fold
        scores, each of deviation 1 and by its own name in ``constraints``, with weights from 0 on (``positive`` may
        hold other signs). The bound is that of no blend of these scores. Rows to come are scored by members fitted on
        all rows.
    solver_options : mapping or None
        Options of the solver, by name. Seven mean the same for all: ``threads``, ``gap`` (relative, at which it may
        stop), ``node_limit``, ``cutoff`` (only larger values are looked for), ``seed``, ``log`` (a file) and ``start``,
        which the search begins with, too: weights in the table's own units as ``coef_``, by column or one for each. A
        note says which of them a solver has not. Any other name is the solver's own, and passed on as it is; where
        PuLP calls the solver, it is an argument of PuLP's interface.
    quota : str, sequence of str or None
        Quotas such as ``"at least 20 of A among the first 200"`` and ``"at most 5 of B among the first 100"``, where A
        and B are kinds of rows (``people`` of :meth:`fit`). Each is kept on every list that counts, by the order of
        scores over all of its rows, with ties against the quota.
    constraints : sequence of str
        Linear rows on the weights by column name, in the table's own units: ``"age >= 2 * income"``, ``"a + b <= c"``,
        ``"`blood sugar` <= 0"``. Free weights have no scale, so that a number other than 0 needs a radius: weights are
        then in units of the first stage's score, the total weight where that is affine in the columns, else the
        correction. A first stage that breaks a constraint is not kept.
    normalise : {None, "sum"}
        "sum" fits weights that are none below 0 and have the sum 1 in the table's own units, as people write them by
        hand. Constraints may then hold any number (``"age >= 0.1"``), and ``margin`` is in units of that score; the
        smallest is 1e-4 of the narrowest column's range. Pairs of rows have to fit into memory; there is no radius.
    proof : bool
        Record how the search split the weights into boxes: ``result_.proof`` (``docs/proofs.md``).
    checkpoint : path or None
        File for the state of the search, from which the same fit goes on.
    n_jobs : int or None
        Cores of the search and threads of HiGHS; None for 1, -1 for all.
    random_state : int, RandomState, Generator or None
        None is 0. Two fits give the same result, unless ``time_limit`` ends them. What is no number draws one in each
        fit, and this number is what a file keeps.
    verbose : int
        1 for a live line (what is proved so far, boxes) in a terminal or notebook, and a line when the search ends; 2
        for lines while it goes on and the solver's log.

    Attributes
    ----------
    result_ : Result
        Statistic, value, bound, gap, status and further numbers of the fit.
    coef_ : float64 array (n_features,)
        Weights of the head's score in original units, or of the first stage if that is kept and affine. With a radius,
        of both together if the first stage is affine, else the corrections. With a transformer, of what it makes.
    prior_weight_ : float
        Weight of the first stage's score beside ``coef_``: 1 where that holds corrections, else 0.
    classes_ : array or None
        The labels, the one to find last, or the grades; None if a grade is no whole number.
    features_ : array
        Columns with a weight: names if the data had names, else indices.
    first_stage_ : estimator or None
    blend_weights_ : dict or None
        Weight of each member of a blend, by name; their sizes sum to 1. With ``features="members"`` those that rank.
    threshold_ : float
        Least first-stage score of the head, ``-inf`` for whole lists. It only approximates the K best rows of lists.
    reranks_ : bool
        False if the first stage is kept as it is.
    state_ : FittedState
    """

    # Groups that scikit-learn's tools hand to their splitter are kept whole in the fit as well, unless asked otherwise.
    __metadata_request__fit = {"groups": True, "people": True}

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | str | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
        ideal_gains: IdealGains = None,
        groups: ArrayLike | str | None = None,
        people: ArrayLike | str | None = None,
        **others: Any,
    ) -> Self:
        """Fit first stage and reranking.

        Parameters
        ----------
        X : array, sparse matrix, pandas or polars data frame, or pyarrow table (n, d)
            The first stage gets it as it is, but for a saved index, which is left out unless ``features`` or
            ``first_stage`` names it. Columns that are reranked must hold finite numbers.
        y : array-like (n,)
            0/1, -1/1, booleans, or grades from 0 upwards, 0 irrelevant; two other labels take ``pos_label``.
            For ``stat="pairs"`` any real numbers.
        qid : array-like (n,) or str, optional
            List of each row, in any order, or the column of X that holds it; one list without it.
        sample_weight : array-like (n,), optional
            A row of weight 0 is not there: the fit is that of the table without it. Other weights multiply the gain of
            a row, so that those of irrelevant rows count in the first stage alone. 0 or 1 for "ap", "rr",
            "success@N", "pos@top" and "pairs".
        query_weight : mapping from list id to weight, or array-like (n,), optional
            Weight of each list in the mean over lists; a list of weight 0 is not there.
        ideal_gains : mapping from list id to grades, optional
            Grades of relevant items of a list that are not among its rows, because they were not retrieved. They count
            in what nDCG, AUC, AP and recall are divided by, and are never candidates. A list whose relevant items were
            all missed counts 0. Without ``qid`` the id of the only list is 0.
        groups : array-like (n,) or str, optional
            Group of each row, such as a person or a machine, or the column of X that holds it. Rows of a group are
            never in two folds of the first stage's out-of-fold scores. With ``qid`` lists stay whole, too, so that a
            group in several lists keeps these together.
        people : array-like (n,) or str, optional
            Kind of each row, which quotas count, or the column of X that holds it.
        **others
            None is taken: for ``group``, by which other rankers are told the lists, the error says how to give ``qid``.

        Raises
        ------
        InputError
        CertificateError
            If a solver's claim fails the exact recomputation.

        Warns
        -----
        InputWarning
            For a first stage whose score decides nothing, because lists are reordered whole and there is no radius.
        """
        self._refuse(others)
        self._fit_on(Arguments(X, y, qid, sample_weight, query_weight, ideal_gains, groups, people))
        for note in of_kind(self.result_.notes, UNUSED):
            warnings.warn(note, InputWarning, stacklevel=2)
        return self._warned()

    def _fit_on(
        self, arguments: Arguments, fold: Indices | None = None, held_out: Mapping[Any, Floats] | None = None
    ) -> Self:
        """Fit, with ``fold`` and ``held_out`` as in :class:`Data`."""
        with enough_memory():
            clock = Clock(self.time_limit)
            data = replace(data_of(arguments, self, self), fold=fold, held_out=held_out or {})
            fitted = fit(data, task_of(self, data.X.shape[1]), clock)
            self._arguments = arguments
            return self._adopt(replace(fitted, named=data.rows.columns.frame or bool(arguments.names)))

    def build_model(self, **choices: Any) -> Any:
        """The Pyomo ConcreteModel of the fitted problem; ``choices`` go to the builder (``linking``, ``big_m``, ...).

        With ``two_sided=True`` ``z[i, k]`` says whether row i is above row k in the ranking itself, so that rows on
        ``z`` are about the ranking; without it ``z`` says what may be counted. Differences between 0 and the margin are
        forbidden then.

        ``w`` are weights of scaled columns. ``weight[name]`` is the weight of a column in the table's own units, as in
        ``coef_``; with a radius, its correction in units of the first stage's score. ``rerank_info.rows`` maps the row
        ``i`` of ``z[i, k]``, ``s[i]`` and ``r[i]`` to its index label or number in the table, and
        ``rerank_info.columns`` the column ``j`` of ``w[j]`` to its name.
        """
        return export.named_model(self._fitted(), self._program(), choices)

    def statistic_bound(self, time_limit: float | None = 60.0) -> float:
        """A bound on what is fitted, without margin and penalty: no allowed weights rank the training lists better.

        Ties count as ``stat.ties`` says: for AUC a tied pair is one half, as in ``result_.statistic`` and
        scikit-learn. By a search of its own, see :func:`rerank.search.statistic_bound`. With a window or a list length
        it bounds that statistic, ``result_.fitted_name``, and not the one that is quoted.
        """
        state = self._fitted()
        given = (state.known_problem(), time_limit, state.weights if state.weights.any() else None)
        assert state.training is not None
        bound = statistic_bound(*given, state.task.n_jobs, state.task.random_state, ties=state.task.statistic.ties)
        return bound + state.training.tied_tails

    def pool(self, delta: float, k: int = 5, time_limit: float = 10.0) -> WeightPool:
        """The ``k`` most different weights that are worth at most ``delta`` less than those of the fit.

        Parameters
        ----------
        delta : float
            In the unit of ``result_.value``, penalty included.
        k : int
        time_limit : float
            Seconds, a part of them for the sample, the rest for proofs of the signs that all of it shares.

        Returns
        -------
        WeightPool
            With the range of each weight over all that were found, which is a sample. A sign is called certain only
            where a search proved that the other half holds no weights worth enough.

        Raises
        ------
        InputError
            For a model that was read from a file, or an option that is no such number.
        """
        return pool_of(self._fitted(), delta, k, time_limit)

    def frontier(
        self,
        k_max: int = 4,
        X: Any = None,
        y: Any = None,
        qid: ArrayLike | str | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
        ideal_gains: IdealGains = None,
        groups: ArrayLike | str | None = None,
        people: ArrayLike | str | None = None,
        *,
        folds: int | None = 5,
        time_limit: float | None = 60.0,
    ) -> Frontier:
        """The best value with at most 1, 2, ... ``k_max`` columns, each with its bound and its value on held-out rows.

        Parameters
        ----------
        k_max : int
            In place of ``max_features``.
        X, y, qid, sample_weight, query_weight, ideal_gains, groups, people
            As in :meth:`fit`, which need not be called; without them the rows of the fit, as they are now.
        folds : int or None
            In each of them columns and weights are chosen anew on the other rows, by the first points of the search as
            in :class:`RerankerCV`. None for no held-out values.
        time_limit : float or None
            Seconds for everything; what the smaller sizes leave is for the larger ones.

        Returns
        -------
        Frontier
            By the search alone. Without a radius there is no first stage: the columns order all rows. Each search
            begins with the best weights of fewer columns; a value never falls with the size, nor does a bound. Where a
            tied pair is one half, as in AUC, value and bound count it so; the weights are the best with ties as lost.

        Raises
        ------
        InputError
            For data or options that cannot be used, or if there are no rows, as after :func:`load`.
        """
        from rerank.reranker.selection.frontier import frontier_of

        given = Arguments(X, y, qid, sample_weight, query_weight, ideal_gains, groups, people)
        if X is None:
            check_is_fitted(self, "result_")
            if not hasattr(self, "_arguments"):
                raise InputError("A Reranker that was loaded holds no rows; pass X and y, the rows of the fit.")
            given = self._arguments
        return frontier_of(self, given, k_max, folds, time_limit)

    def audit(self, time_limit: float | None = 60.0) -> str:
        """The statistic now, that of the fit, and what no allowed weights exceed on these lists, for people.

        Without the margin, so that the bound may be above that of the fit; a second sentence then says both.
        """
        bound, state = self.statistic_bound(time_limit), self._fitted()
        found, training = state.result.certificate, state.training
        own = None if found is None else float(found.statistic)
        if own is not None and training is not None and state.task.statistic.ties == "average":
            own = training.average(state.weights)
        ideal = state.known_problem().ideal + (0.0 if training is None else training.tied_tails)
        return audit_of(state.result, bound, own, ideal)

    def fit_model(self, model: Any) -> Self:
        """Solve a model of :meth:`build_model` with what was added to it, and use the best weights.

        HiGHS solves it, or ``solver`` if that is another one. Rows, bounds and columns that were added are kept exactly
        (equalities within 1e-6, and ``result_.notes`` say by how much they are missed). The weights are scaled only
        where all rows still hold, and the value is recomputed exactly for the weights as they are. The bound is that of
        the program with these rows, on the solver's word (``result_.bound_source`` is "rows"), or that of the fit. Of
        rows on pairs and counts a note says whether the ranking itself keeps them, in which every lead is a win
        (``build_model(two_sided=True)``). The variables of the model get the values of the solution. An objective in
        place of ``model.statistic`` is reported in its own sense in ``result_.notes``. A search knows no rows of a
        program and proves nothing here.

        Parameters
        ----------
        model : ConcreteModel
            Of :meth:`build_model` of this fit.

        Raises
        ------
        InputError
            For a model of another fit, what is no linear program, and weights that break a row.
        SolverError
            If the solver finds no point.
        CertificateError
            If the weights are not worth what the solver claims.
        """
        with enough_memory():
            return self._adopt(export.fit_model(self._fitted(), model, self))

    def export_mps(self, path: str | os.PathLike[str], model: Any = None, **choices: Any) -> tuple[str, str]:
        """Write the program as a portable ``.mps`` file, and a ``.json`` file that can rebuild this estimator;
        return both paths.

        A ``model`` of :meth:`build_model` is written with what was added to it.
        """
        return export.export(self._fitted(), self._program(), path, choices, model)[:2]

    def load_solution(
        self,
        path: str | os.PathLike[str],
        dialect: str | None = None,
        *,
        model: Any = None,
        bound: float | None = None,
        by: str | None = None,
        prove: float | None = None,
        **choices: Any,
    ) -> Self:
        """Use the weights of another solver's solution file, polished and recomputed exactly.

        Parameters
        ----------
        path : path
            Solution for the program of :meth:`export_mps`, or its weights alone, a line ``w0 0.5`` for each.
        dialect : str, optional
            One of ``formulations.solutions.NAMES``; recognised if omitted.
        model : ConcreteModel, optional
            The model whose program was solved, with what was added to it.
        bound : float, optional
            The solver's bound, as it prints it for the file. It is not checked, and all that is said of it names the
            solver.
        by : str, optional
            Whose word the bound is, such as ``"Gurobi 13.0"``.
        prove : float, optional
            Seconds for a search that starts from these weights and bounds the value. Better weights that it finds are
            taken, with a note.

        Raises
        ------
        CertificateError
            If the weights do not give the solution's objective when recomputed exactly, even after polishing.
        InputError
            For a file that cannot be read or is of another program, weights that break a row that was added, and a
            bound below what the weights are worth.
        """
        solved = path, dialect, export.BoundClaim(bound, by, prove)
        return self._adopt(export.load_solution(self._fitted(), self._program(), solved, choices, model))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that is needed to rank rows and to verify the result, as JSON without pickle."""
        document.write_state(self._fitted(), path)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as scikit-learn's tools do; one by its last name with a warning."""
        return cast(Self, super().set_params(**of_today(params, RENAMED)))

    def _program(self) -> str:
        """Name of the program that ``formulation`` asks for."""
        return chosen_formulation(self.formulation, self._fitted().task.statistic)

    def __getstate__(self) -> Any:
        """Without the rows of the fit."""
        return {name: value for name, value in super().__getstate__().items() if name != "_arguments"}

    def __getattr__(self, name: str) -> Any:
        """A parameter by its last name; of a method that is gone, what to use."""
        if name in RENAMED:
            return getattr(self, RENAMED[name][0])
        if name in PARTS:
            raise AttributeError(
                f"{type(self).__name__} has no {name!r} any more: read the rows and columns that count into one table, "
                f"and call {PARTS[name]}."
            )
        return object.__getattribute__(self, name)  # which fails as it did

    def _adopt(self, state: FittedState) -> Self:
        """Take over a fitted state and set the public attributes."""
        self.state_ = state
        self.first_stage_ = None if state.first_stage is None else state.first_stage.estimator
        self.blend_weights_: dict[str, float] | None = state.blend_weights
        self.threshold_ = state.threshold
        self.reranks_: bool = state.reranks
        self.result_ = state.result
        self.coef_, used = state.coef, np.flatnonzero(state.coef)
        self.prior_weight_, self.classes_ = state.prior_weight, None if state.classes is None else state.classes.names
        self.features_ = np.array(state.columns.names, dtype=object)[used] if state.named else used
        return self


Reranker.__init__ = without(GONE, RENAMED)(RerankerOptions.__init__)  # type: ignore[method-assign]


def load(path: str | os.PathLike[str], first_stage: Any = None) -> Reranker:
    """A fitted :class:`Reranker` from a file written by :meth:`Reranker.save`; it can rank, score and save, no more.

    Parameters
    ----------
    path : path
    first_stage : fitted estimator, optional
        Needed if the model's first stage was not affine in the features.
    """
    return restored(document.read_state(path, first_stage))


def restored(state: FittedState) -> Reranker:
    """The estimator of a fitted state."""
    est = Reranker(**values_of(state.task.given))
    est.n_features_in_ = len(state.columns.inputs)
    if state.columns.frame:
        est.feature_names_in_ = np.array(state.columns.inputs, dtype=object)
    return est._adopt(state)


def fit_table(est: Any, table: Table) -> Any:
    """A Reranker, or a RerankerCV, fitted on a table read from a file, whose columns have names."""
    return est._fit_on(Arguments.of_file(table))
