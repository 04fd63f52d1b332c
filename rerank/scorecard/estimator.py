"""The estimator: a card fitted to a rank statistic, with its proof, its pool, and what another card lacks."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from rerank.errors import InputError, LeakWarning
from rerank.errors.compiling import working_time
from rerank.errors.stops import protected
from rerank.io.arrays import held
from rerank.io.frames import Frame, as_table, index_of, is_frame, is_sparse, names_of, without
from rerank.io.labels import read_labels
from rerank.io.leaks import leaks
from rerank.io.meant import meant
from rerank.io.options import real, seed
from rerank.io.page import Part, ShownMixin, Words
from rerank.ranks.lists import lists_missing
from rerank.scorecard.card import Card
from rerank.scorecard.choose import searched
from rerank.scorecard.frontier import SEARCHES, Frontier, frontier_of
from rerank.scorecard.gaps import codes_told, levels_of, special_of, with_gaps
from rerank.scorecard.held_out import STOPPED, corrected
from rerank.scorecard.kernels import NO_CUT
from rerank.scorecard.options import CardOptions, Weights
from rerank.scorecard.pool import Pool, pool_of
from rerank.scorecard.program import export, model_of
from rerank.scorecard.regret import Regret, regret_of
from rerank.scorecard.result import CardResult, HeldOut, later, result_of
from rerank.scorecard.rows import Rows, class_weighted, cut_of
from rerank.scorecard.search import Search
from rerank.scorecard.statement import asked_of, measure, name_of
from rerank.scorecard.verify import Claim, Verified, verify


class Scorecard(CardOptions, ShownMixin, ClassifierMixin, BaseEstimator):
    """A card of whole-number points on yes/no questions, fitted to a rank statistic, with a proof.

    A row's score is the sum of the points of the questions that it answers by yes.  Rows of equal totals count in
    expectation over their orders, as the field counts AUC.  Questions are exchanged one at a time until nothing
    helps.  Then, for a proof, every set of questions is bounded by the best order of the groups of rows that it tells
    apart, and the points of those that may hold a better card are searched.

    Parameters
    ----------
    stat : str or RankStatistic
        ``"auc"``, ``"pauc_fpr@0.1"`` (area below the ROC curve, straight through ties, up to that rate), ``"dcg@10"``,
        ``"ndcg@10"``, ``"precision@100"`` or any other statistic that pays a relevant row by its place. ``"logloss"``
        is minus the mean log loss, so that more is better: the risk of a total is logistic in it, with the intercept
        and the slope, not below 0, that fit the rows of the fit best; :meth:`score` takes these on other rows.
    n_questions : int
        Most questions of the card.
    points : int, tuple or list
        Points that a question may have: R for -R to R, a pair ``(1, 3)`` for a range, a list ``[5, 10]`` for numbers.
        Where all have one sign, thresholds are asked both ways, whatever ``both_ways`` says.
    thresholds : "quantiles", int or mapping
        Thresholds of columns of numbers: 20, 40, 60 and 80 %, another number of quantiles, or numbers by column.
    max_levels : int
        A column of numbers with at most so many values gives a threshold at each.
    max_columns : int or None
        Most columns that the card may ask about.
    one_per_column : False, True or "monotone"
        At most one question of a column; or several of one direction with points of one sign, so that the points rise
        or fall with the value.
    signs : mapping, optional
        Question or column to 1 or -1, the sign that its points must have.
    bounds : mapping, optional
        Question or column to the points that it may have, as ``points``.
    must, never : sequence of questions or columns
        The card asks each of ``must`` (of a column: some question), and none of ``never``.
    at_least_one, not_both, together : sequence of questions or columns, or several of them
        At least one of a set, at most one of a set, all or none of a set.
    max_total : int or None
        The largest total that a row may have: the points above 0 add up to so many at most.
    constraints : sequence of str
        ``"sensitivity >= 0.8"``, ``"specificity >= 0.9"``, ``"precision >= 0.3"`` and ``"flagged <= 20%"`` at the cut;
        ``"flagged gap <= 0.1"`` and ``"sensitivity gap <= 0.1"`` between kinds of people; ``"auc inside >= 0.6"`` for
        each kind; ``"at least 20 of A among the first 200"``, whatever the order of tied rows.
    cut : None, str or float
        ``"top 100"`` or a share: the card flags as many whole blocks of tied rows as have at most so many rows, and
        a card whose first block has more is not allowed; ``"free"``: below any block. None flags
        rows whose risk is one half at least.
    validation : int, "bootstrap" or None
        The corrected value: folds, in each of which questions and card are chosen anew; or Harrell's bootstrap, by
        whose refits the intervals of risks hold for rows to come, too.
    time_limit : float or None
        Seconds of everything, compiling not counted: at most .7 for the search where there is a corrected value, which
        has what is left. Without the time for all of its refits there is none, and the result says so.
    n_jobs : int or None
        Threads; None for 1, -1 for all cores.
    random_state : int, RandomState, Generator or None
        Of folds, refits and the search of large cards; None is 0.
    verbose : int
        1 for lines of progress on standard error, which a terminal gets anyway.
    pos_label : object, optional
        The label of the rows to find, if ``y`` holds two labels that are neither 0 and 1 nor -1 and 1.
    class_weight : mapping, "balanced" or None
        Label to a number by which the weights of its rows are multiplied: a row counts as so many in value, rates and
        risks. ``"balanced"``: so that both classes weigh half, and all rows as many as they are. A sample with other
        shares than the rows to come gets these back by it.
    both_ways : "gaps", True or False
        Thresholds are asked both ways, ``"age >= 60"`` and ``"age < 60"``: of columns with gaps, which answer no to
        either; of all columns; of none.
    ranges : bool
        Whether a number is between two thresholds is asked, too: ``"18 <= age < 30"``. Not where points are monotone.
    groups : bool
        Whether a text is one of several is asked, too: ``"region in B, D"``. Levels are put in the order of their
        shares of relevant rows; a group holds the first of them, or the last.
    min_rows : float
        Rows, at least, that answer yes to a question, and that answer no; below 1 a share of the rows. Questions that
        are named are asked with fewer.
    special : mapping or None
        Column to codes that stand for a gap, such as ``{"income": [999999]}``: they are gaps to the fit and the card.

    Attributes
    ----------
    card_ : Card
        Questions, points, and what each total meant in the rows of the fit.
    result_ : CardResult
        Value, bound, status, corrected value, and how many sets were bounded and searched.
    questions_ : list of Question
        Those that the card was chosen from.
    left_out_ : dict
        Columns that give no question, and why.
    n_lists_ : int
        Lists of the fit.
    classes_ : array (2,)
        The label of the rows to find comes last.
    """

    card_: Card
    result_: CardResult
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | str | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
        people: ArrayLike | str | None = None,
    ) -> Self:
        """Find the best card.

        Parameters
        ----------
        X : table (n, d)
            Array, pandas or polars data frame, or pyarrow table; numbers, texts and gaps as they are.
        y : array (n,)
            Two labels; ``pos_label`` says which one is to be found, if they are neither 0 and 1 nor -1 and 1.
        qid : array (n,) or str, optional
            List of each row, or the column that has it, which then gives no question.
        sample_weight : array (n,), optional
            How many equal rows a row stands for; a row of weight 0 is not there.
        query_weight : mapping or array (n,), optional
            Weight of a list in the mean.
        people : array (n,) or str, optional
            Kind of person of each row, for ``constraints``; or the column that has it, which then gives no question.

        Raises
        ------
        InputError
            For data or options that cannot be used, and where no card keeps rules and constraints.
        """
        rows = self._entered(X, y, qid, sample_weight, query_weight, people)
        for note in leaks(rows.X, names_of(rows.X), range(rows.X.shape[1]), rows.relevant.astype(np.float64)):
            warnings.warn(note, LeakWarning, stacklevel=2)
        began = working_time()
        share = None if self.time_limit is None else real("time_limit", self.time_limit, 0.0)
        searches = share if share is None or self.validation is None else SEARCHES * share
        search, found = searched(self, rows, limit=searches)
        if search.best is None:
            raise self._none(search, rows)
        self.questions_, self.left_out_ = found.questions, found.left_out
        self._rows, self._stated, self._found = rows, found, search.best
        self.n_lists_, self._list_column = rows.list_weight.size, qid if isinstance(qid, str) else ""
        seconds = working_time() - began
        card, limits = found.card(search.best), found.problem.limits
        totals = card.total(rows.X)
        cut = None if limits.cut == NO_CUT else cut_of(totals, rows, limits)
        self.card_ = replace(card.with_totals(totals, *rows.counts), cut=cut)
        how, held_out, stopped = self.validation, None, search.stop.asked.is_set()
        if how is not None:
            left = None if share is None else max(0.0, began + share - working_time())
            if not stopped:
                held_out, stopped = protected(
                    lambda: corrected(self, self.card_, rows, how, seed(self.random_state), left)
                )
            held_out = HeldOut(None, 0, str(how), why=STOPPED) if stopped else held_out
        if held_out is not None and held_out.spread is not None:
            self.card_ = self.card_.with_totals(totals, *rows.counts, held_out.spread)
        numbers = result_of(self.stat, rows, self.card_, search, len(found.questions), seconds, held_out)
        notes = tuple(map(str, (*meant(rows.X), *codes_told(rows.X), *(["Stopped by Ctrl-C."] if stopped else []))))
        levels = levels_of(self.card_.questions, rows.X)
        self.result_ = replace(numbers, asked=asked_of(self, rows), notes=notes, levels=levels)
        return self

    def _entered(
        self,
        X: Any,
        y: ArrayLike | None,
        qid: ArrayLike | str | None = None,
        weight: ArrayLike | None = None,
        query_weight: Weights = None,
        people: ArrayLike | str | None = None,
    ) -> Rows:
        """The rows that are there, with labels 0 and 1."""
        if is_sparse(X):
            raise InputError("X is a sparse matrix, and questions need columns of values; pass X.toarray().")
        X = as_table(held(X))
        validate_data(self, X, reset=True, skip_check_array=True)
        X = without(X, *index_of(X))  # no question asks for a saved index
        if y is None:
            raise InputError(
                "This Scorecard needs y, the labels of the rows: requires y to be passed, but the target y is None."
            )
        grades, labels = read_labels(held(y), X.shape[0], self.pos_label)
        kinds = np.unique(grades)
        if kinds.size > 2 or kinds[-1] != 1.0:
            raise InputError(
                f"y holds {kinds.size} labels up to {kinds[-1]:g}, and a card is for two. Only binary classification "
                "is supported. The type of the target is multiclass; mark the rows to find by 1 and the others by 0."
            )
        self.classes_ = np.array([0, 1]) if labels is None else np.array([labels.negative, labels.positive])
        X = with_gaps(X, special_of(self.special))
        weight = class_weighted(self.class_weight, grades > 0, self.classes_, weight)
        return Rows.of(X, grades > 0, qid, weight, query_weight, people)

    def _none(self, search: Search, rows: Rows) -> InputError:
        """Why there is no card: the first rule or constraint that alone leaves none."""
        if not search.complete:
            return InputError("The time ended before a card that keeps the rules was found; raise time_limit.")
        texts = [self.constraints] if isinstance(self.constraints, str) else list(self.constraints)
        own: dict[str, Any] = {"must": self.must, "at_least_one": self.at_least_one, "not_both": self.not_both}
        own |= {
            "together": self.together,
            "max_columns": self.max_columns,
            "max_total": self.max_total,
            "cut": self.cut,
        }
        free = replace(self, **{name: CardOptions.__dict__[name] for name in (*own, "constraints")})
        each = [(f"{name}={value!r}", {name: value}) for name, value in own.items()]
        each += [(f"the constraint {text!r}", {"constraints": [text], "cut": self.cut}) for text in texts]
        for said, alone in each:
            if searched(replace(free, **alone), rows)[0].best is None:
                return InputError(f"No card of {self.n_questions} questions keeps {said}; loosen it.")
        return InputError(
            "No card keeps all rules and constraints together, though each alone leaves some; loosen one."
        )

    def total(self, X: Any) -> NDArray[np.int64]:
        """Total of each row of a table (n, d), the sum of the points of the questions that it answers by yes."""
        table = self._table(X)
        return self.card_.total(table)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The totals as float64 (n,)."""
        return self.total(X).astype(np.float64)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Risk of each row by its total, as the shares (n, 2) of ``classes_``; see :meth:`Card.risk`."""
        totals = self.total(X)
        risk = self.card_.risk(totals)
        return np.column_stack([1.0 - risk, risk])

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row: flagged at the cut, or without one at a risk of at least one half."""
        totals = self.total(X)
        return self.classes_[self.card_.flags(totals).astype(np.intp)]

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | str | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
    ) -> float:
        """The statistic on rows, tied rows in expectation over their orders, weights as numbers of equal rows.

        After a fit on several lists ``qid`` may be left out where X has the column of the fit that held them; one
        number, such as 0, says that all rows are one list.

        Raises
        ------
        InputError
            Also without ``qid``, where the fit had several lists, and X has not their column.
        """
        table = self._table(X)
        if qid is None and self.n_lists_ > 1:
            if self._list_column not in names_of(table):
                raise InputError(lists_missing(self.n_lists_))
            qid = self._list_column
        labels = None if self.classes_.tolist() == [0, 1] else self.classes_[1]
        grades, _ = read_labels(held(y), table.shape[0], self.pos_label if labels is None else labels)
        rows = Rows.of(table, grades > 0, qid, sample_weight, query_weight, None)
        return later(self.stat, self.card_, rows)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[Any]:
        """The questions of the card as texts."""
        check_is_fitted(self, "card_")
        return np.array([str(question) for question in self.card_.questions], dtype=object)

    def _table(self, X: Any) -> Any:
        check_is_fitted(self, "card_")
        if is_sparse(X):
            raise InputError("X is a sparse matrix, and questions need columns of values; pass X.toarray().")
        table = as_table(held(X))
        if not is_frame(table):  # a frame needs no columns but those that the card asks about
            validate_data(self, table, reset=False, skip_check_array=True)
            if hasattr(self, "feature_names_in_"):
                return Frame({str(name): table[:, j] for j, name in enumerate(self.feature_names_in_)})
        return table

    def pool(self, delta: float, most: int = 100_000) -> Pool:
        """All cards whose value is at least the card's less ``delta``, as the rules and constraints allow them.

        A card is a set of questions, none of them idle, with an order of the groups of rows that it tells apart.

        Parameters
        ----------
        delta : float
            In the unit of the statistic, 0 or more.
        most : int
            Cards at most; the pool says whether it was cut.

        Raises
        ------
        InputError
        """
        check_is_fitted(self, "card_")
        return pool_of(
            self._stated, self._found, real("delta", delta, 0.0), most, effective_n_jobs(self.n_jobs), self.time_limit
        )

    def frontier(
        self,
        k_max: int = 4,
        X: Any = None,
        y: ArrayLike | None = None,
        qid: ArrayLike | str | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
        people: ArrayLike | str | None = None,
        time_limit: float | None = 60.0,
    ) -> Frontier:
        """The best cards of at most 1, 2, ... ``k_max`` questions, each with its bound and its corrected value.

        Parameters
        ----------
        k_max : int
            In place of ``n_questions``.
        X, y, qid, sample_weight, query_weight, people
            As in :meth:`fit`, which need not be called; without them the rows of the fit.
        time_limit : float or None
            Seconds for all sizes; what the smaller ones leave is for the larger ones.

        Returns
        -------
        Frontier
            Each search begins with the best smaller card. The corrected value is that of ``validation``: questions and
            points chosen anew on the other folds.

        Raises
        ------
        InputError
        """
        rows = self._rows_of(X, y, qid, sample_weight, query_weight, people)
        return frontier_of(self, rows, k_max, time_limit)

    def regret(
        self,
        card: Any,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | str | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
        people: ArrayLike | str | None = None,
        most: int = 10_000,
    ) -> Regret:
        """What a card in use lacks: its value, and that of the best card of its size, whose questions may be its own.

        Parameters
        ----------
        card : Card, mapping, pairs or path
            See :meth:`Card.of`. Its questions join the candidates, and its points the range.
        X, y, qid, sample_weight, query_weight, people
            As in :meth:`fit`. The estimator need not be fitted, and stays as it is.
        most : int
            Better cards are counted up to so many.

        Raises
        ------
        InputError
        """
        judged = replace(self)
        rows = judged._entered(X, y, qid, sample_weight, query_weight, people)
        return regret_of(judged, Card.of(card, names_of(rows.X)), rows, most)

    def verify(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        qid: ArrayLike | str | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: Weights = None,
        people: ArrayLike | str | None = None,
    ) -> Verified:
        """Prove the result again, with code that shares nothing with the search; see :mod:`rerank.scorecard.verify`.

        Parameters
        ----------
        X, y, qid, sample_weight, query_weight, people
            The rows of the fit, for an estimator that was loaded from a file; otherwise it has them.

        Returns
        -------
        Verified
            What was checked, how many sets of questions and vectors of points, and how long it took.

        Raises
        ------
        CertificateError
            One sentence, if the result is contradicted.
        """
        check_is_fitted(self, "card_")
        return verify(self._claim(self._rows_of(X, y, qid, sample_weight, query_weight, people)))

    def _claim(self, rows: Rows) -> Claim:
        answers = np.array([question.answers(rows.X) for question in self.questions_])
        asked = (self.result_, self.card_, tuple(self.questions_), *measure(self.stat))
        return Claim(*asked, answers, self.card_.answers(rows.X), rows, *rows.units, self._stated.problem)

    def _rows_of(self, X: Any, *given: Any) -> Rows:
        """The rows that are given, or those of the fit."""
        if X is not None:
            return replace(self)._entered(X, *given)
        check_is_fitted(self, "card_")
        if not hasattr(self, "_rows"):
            raise InputError("A Scorecard that was loaded holds no rows; pass X and y, the rows of the fit.")
        return self._rows

    def build_model(self, ties: str = "average", **choices: Any) -> Any:
        """The program of the card as a Pyomo ConcreteModel, in points; see :mod:`formulations.card`.

        ``rerank_info.columns`` maps ``j`` of ``w[j]`` to the question; rows that answer alike are one.

        Parameters
        ----------
        ties : {"average", "pessimistic"}
            Tied rows in expectation, for ``stat="auc"``: the optimum is the card's value.  Or tied relevant rows last,
            for any statistic of places: another value, and perhaps another card.
        **choices
            ``name``, ``max_nonzeros``, and with pessimistic ties how :func:`formulations.mixed.build` writes programs.

        Raises
        ------
        NotSupportedError
            For limits at a cut and among the first rows, and for other statistics with ``ties="average"``.
        """
        rows, single, own = self._rows_of(None), self.one_per_column is True, self._stated
        model = model_of(own.problem, self.stat, own.answers, rows, single, ties, **choices)
        model.rerank_info = replace(model.rerank_info, columns=dict(enumerate(map(str, self.questions_))))
        return model

    def export_mps(self, path: str | os.PathLike[str], ties: str = "average", **choices: Any) -> tuple[str, str]:
        """Write :meth:`build_model` as a portable ``.mps`` file, with a ``.json`` file that says what its columns mean.

        Returns both paths.  Column ``w3`` holds the points of the question 3 of ``questions_``, counted from 0.
        """
        told = {"questions": list(map(str, self.questions_)), "statistic": name_of(self.stat), "ties": ties}
        return export(self.build_model(ties, **choices), path, told)

    def plot(self, ax: Any = None) -> Any:
        """The risk of each total with its interval, and the rows that have it; returns the axes."""
        from rerank.plots import card_risks

        check_is_fitted(self, "card_")
        return card_risks(self.card_.totals, self.card_.cut, ax=ax)

    def _parts(self) -> Sequence[Part] | None:
        if not hasattr(self, "card_"):
            return None
        return [*self.result_.parts(), Words(""), *self.card_.parts()]

    def __getstate__(self) -> Any:
        return {name: value for name, value in super().__getstate__().items() if name != "_rows"}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.classifier_tags.multi_class = False
        return tags
