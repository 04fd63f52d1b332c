"""First stages: from a name, an estimator, a function or ready-made scores to scores of rows.

A first stage is fitted on the whole training list. It is fast, and only has to bring the relevant rows into the
shortlist. If it is an affine function of the features, its weights are kept as numbers. Such a first stage gives the
same bits on every machine, can be written to a model file, and gives the search its start.
"""

import importlib
import inspect
import math
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from rerank.errors import InputError, nearest
from rerank.errors.compiling import uncounted
from rerank.errors.threads import one_thread
from rerank.io.frames import is_sparse, some_rows
from rerank.problem.lists import Floats, Indices
from rerank.problem.scaling import deviations
from rerank.ranks.positions import affine
from rerank.ranks.rationals import unit
from rerank.reranker.columns import Columns, TableRows

# Scorers of this package, by the name a user types. Zero weights are optimal for TopPush as published on most real
# tables, and seldom with the mean of the upper half of the irrelevant rows as threshold (docs/decisions/0029).
SCORERS: dict[str, tuple[str, dict[str, Any]]] = {
    "toppush": ("TopPush", {"alpha": 0.01, "threshold": "quantile", "k": 0.5}),
    "ranksvm": ("RankSVM", {}),
    "robirank": ("RoBiRank", {}),
    "trees": ("TableTrees", {}),
    "forest": ("TableTrees", {"forest": True}),
    "lambdarank": ("TableTrees", {"lambdarank": True}),
}
MEMORISES = ("trees", "forest", "lambdarank")
"""Names whose scores of their own training rows say little: theirs are out-of-fold unless asked otherwise."""
NAMES = ("logistic", *SCORERS)

# What may follow "logistic", joined by +, and the options of rerank.scorers.TableLogistic that it stands for.
VARIANTS: dict[str, dict[str, Any]] = {
    "squares": {"squares": True},
    "head10": {"head": 0.1},
    "head20": {"head": 0.2},
    "head40": {"head": 0.4},
    "balanced": {"balanced": True},
}

AUTO = "auto"
"""Logistic regression, or what leads it on held-out rows where some are asked: trees, a forest, a blend."""

TOP = "top"
"""Begins the part of a name that says how many columns the regression is refitted on, as in ``"logistic+top3"``."""


@dataclass(frozen=True, eq=False)
class FirstStage:
    """A fitted first stage."""

    name: str  # what the user gave, or the estimator's class
    estimator: Any  # fitted, or a function; None when read from a model file, or where ``coef`` says all
    coef: Floats | None  # (d,), weights of the input columns in original units if the score is affine
    intercept: float = 0.0
    numeric: Indices | None = None  # columns that it was fitted on, as numbers; None for the table as it is
    centre: float = 0.0  # subtracted from a score that is not affine, which is then divided by the scale
    scale: float = 1.0
    frozen: bool = False  # whether it was ready when it came, and so was not fitted here
    log_odds: bool = False  # whether scores of models that were fitted on other rows can be compared with these
    notes: tuple[str, ...] = ()  # sentences for the result

    def scores(self, rows: TableRows) -> Floats:
        """Score of each row, larger is better."""
        if self.coef is not None:
            used = np.flatnonzero(self.coef)
            if not used.size:
                return np.full(rows.n, self.intercept)
            return finite(affine(rows.inputs(used), self.coef[used], self.intercept), self.name)
        if self.estimator is None:
            raise InputError(
                f"The first stage was {self.name} of the training rows, so other rows have none; give the scores as a "
                "column of X and its name as first_stage."
            )
        if rows.columns.transformer is self.estimator:  # a blend, whose members' scores are reranked
            own = self.estimator.of(rows.reranked(np.arange(len(rows.columns.names))))
            return (finite(own, self.name) - self.centre) / self.scale
        seen = rows.given if self.numeric is None else rows.inputs(self.numeric)
        return (scores_of(self.estimator, seen, rows.n) - self.centre) / self.scale

    def coef_in(self, columns: Columns) -> Floats | None:
        """Weights of all columns by name: those of the table, or a blend's members; None where it is not affine."""
        if columns.transformer is None or columns.transformer is not self.estimator:
            return None if self.coef is None else columns.of_inputs(self.coef)
        return np.asarray(self.estimator.weights / self.scale)

    def weights_of(self, columns: Columns) -> Floats | None:
        """Weights of the columns that can be reranked; None where the score is not affine in these alone."""
        coef = self.coef_in(columns)
        return None if coef is None or np.delete(coef, columns.chosen).any() else coef[columns.chosen]

    def unseen(self, rows: TableRows) -> list[str]:
        """A sentence for each column with texts that no row of the fit had."""
        own = of_tables(self.estimator)
        return [] if own is None else own.unseen(rows.given, rows.columns.inputs)

    @property
    def is_given(self) -> bool:
        """Whether it is a function or ready scores, and no estimator."""
        known = ("fit", "predict", "takes_tables")
        return self.coef is None and not any(hasattr(self.estimator, each) for each in known)

    def mapped(self, centre: float, scale: float) -> Self:
        """The same order, with scores shifted by ``centre`` and divided by ``scale``."""
        if self.coef is None:
            return replace(self, centre=self.centre + centre * self.scale, scale=self.scale * scale)
        return replace(self, coef=self.coef / scale, intercept=(self.intercept - centre) / scale)


def is_blend(first_stage: Any) -> bool:
    """Whether it is several first stages, and not a list of scores."""
    several = isinstance(first_stage, list | tuple)
    return several and any(isinstance(member, str) or not np.isscalar(member) for member in first_stage)


def key_of(first_stage: Any) -> Any:
    """What a first stage is known by: its name, or which object it is."""
    if is_blend(first_stage):
        return tuple(map(key_of, first_stage))
    return first_stage if isinstance(first_stage, str) else id(first_stage)


def memorises(first_stage: Any) -> bool:
    """Whether its scores of training rows are those that the folds of a choice hold out: trees, and every blend."""
    return is_blend(first_stage) or (isinstance(first_stage, str) and first_stage in MEMORISES)


def is_auto(first_stage: Any) -> bool:
    """Whether held-out rows are to choose the first stage."""
    return isinstance(first_stage, str) and first_stage == AUTO


def is_logistic(name: Any) -> bool:
    """Whether it names logistic regression or a variant of it."""
    return isinstance(name, str) and name.partition("+")[0] == "logistic"


def is_own_name(name: Any) -> bool:
    """Whether it names a first stage of this package that is fitted."""
    return is_logistic(name) or (isinstance(name, str) and name in SCORERS)


def takes_texts(name: Any) -> bool:
    """Whether a first stage by this name, or a member of a blend, learns from columns of texts and gaps too."""
    if is_blend(name):
        return any(map(takes_texts, name))
    return is_logistic(name) or (isinstance(name, str) and name in (*MEMORISES, AUTO))


def top_of(name: Any) -> int | None:
    """How many columns a logistic regression by this name keeps, the strongest of all; None for all."""
    parts = name.split("+")[1:] if is_logistic(name) else []
    found = [part[len(TOP) :] for part in parts if part.startswith(TOP)]
    return int(found[0]) if len(found) == 1 and found[0].isdecimal() and int(found[0]) > 0 else None


def too_many(stage: FirstStage | None, max_features: int | None, columns: Columns) -> int | None:
    """How many columns an own first stage ranks by, if more than a limit; a score that the user gives is one column."""
    if stage is None or max_features is None or not (is_own_name(stage.name) or hasattr(stage.estimator, "members")):
        return None
    coef = stage.coef_in(columns) if stage.coef is None else stage.coef
    used = len(columns.inputs) if coef is None else int(np.count_nonzero(coef))
    return used if used > max_features else None


def variant_options(name: str) -> dict[str, Any]:
    """The options of a logistic regression by its name, such as ``"logistic+squares+head20"``."""
    options: dict[str, Any] = {}
    top = top_of(name)
    for part in name.split("+")[1:]:
        if part == f"{TOP}{top}":
            continue
        if part not in VARIANTS:
            raise InputError(
                f"first_stage is {name!r}, and {part!r} is no part of it; known after 'logistic', joined by '+': "
                f"{', '.join(VARIANTS)}, top3."
            )
        if options.keys() & VARIANTS[part].keys():
            raise InputError(f"first_stage is {name!r}, and {part!r} is the second part of its kind; leave one out.")
        options |= VARIANTS[part]
    return options


def variant_name(estimator: Any) -> str:
    """The name of a scorer of tables, of a logistic regression with parts in the order of :data:`VARIANTS`."""
    given = estimator.get_params()
    if "forest" in given:
        return "lambdarank" if given["lambdarank"] else MEMORISES[bool(given["forest"])]
    return "+".join(["logistic", *(part for part, options in VARIANTS.items() if options.items() <= given.items())])


def of_tables(estimator: Any) -> Any:
    """The scorer of this package that takes tables as they are, frozen or not; None for another."""
    inside = None if estimator is None else thawed(estimator)
    return inside if getattr(inside, "takes_tables", False) else None


def unique(sentences: Iterable[str]) -> list[str]:
    """Each sentence once, in order."""
    return list(dict.fromkeys(sentences))


def fit_first_stage(
    first_stage: Any,
    rows: TableRows,
    y: Floats,
    qid: Indices | None = None,
    sample_weight: Floats | None = None,
    random_state: Any = None,
) -> tuple[FirstStage, Floats | None]:
    """The fitted first stage, by name or as it is given; what is fitted stays so. Its scores of the rows come with it,
    or None where nothing looked at them: trees take long to score their rows.
    """
    if (ready := _ready(first_stage, rows)) is not None:
        return ready
    named = isinstance(first_stage, str)
    scorer, said = _logistic(first_stage, rows) if is_logistic(first_stage) else (first_stage, "")
    if named and not is_logistic(first_stage):
        scorer = _named(first_stage, rows, random_state)
    of_table = of_tables(scorer) is not None
    name = name_of(first_stage) if not named else variant_name(scorer) if of_table else first_stage
    numeric = rows.columns.numeric if named and not of_table and not is_sparse(rows.given) else None
    _refuse(first_stage, name, scorer, numeric)
    if (top := top_of(first_stage)) is not None:
        numeric = _strongest(first_stage, top, numeric, rows, y, qid, sample_weight)
    seen = rows.given if numeric is None else rows.inputs(numeric)
    estimator = scorer
    if named and not of_table:
        names = rows.columns.inputs
        estimator = standardised(scorer, seen, names if numeric is None else [names[j] for j in numeric])
    frozen = not named and is_fitted(estimator)
    if not frozen:
        estimator = _fitted_as(name, named, estimator, seen, y, qid, sample_weight)
    _refuse_degenerate(name, estimator)
    if (table := of_tables(estimator)) is not None:
        said = table.told(rows.columns.inputs)
    # Of two parts of a scorer of tables the model of another fold may have both where this has one.
    scores = None if table is not None else scores_of(estimator, seen, rows.n)
    coef, intercept = (None, 0.0) if scores is None else _affine(estimator, rows, numeric, scores)
    odds = table.log_odds_ if scores is None else log_odds(estimator, seen, scores)
    notes = (said,) if said else ()
    stage = FirstStage(name, estimator, coef, intercept, numeric, frozen=frozen, log_odds=odds, notes=notes)
    return stage, scores if coef is None else stage.scores(rows)


def _refuse(first_stage: Any, name: str, scorer: Any, numeric: Indices | None) -> None:
    """An error for what is no first stage, and for one of numbers alone where no column holds them."""
    if isinstance(first_stage, type) or not any(hasattr(scorer, each) for each in ("fit", "predict")):
        raise InputError(
            f"first_stage is {first_stage!r}; give None, one of {', '.join(map(repr, NAMES))}, 'logistic+squares' and "
            "the like, the name of a column, a scikit-learn estimator, a function, or an array of scores."
        )
    if numeric is not None and not numeric.size:
        raise InputError(
            f"The first stage {name!r} learns from columns of numbers that miss none, and X has no such column; give "
            "'logistic', which encodes the columns, or a scikit-learn pipeline that does."
        )


def _refuse_degenerate(name: str, estimator: Any) -> None:
    """An error for a first stage with zero weights."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if getattr(last, "degenerate_", False):
        raise InputError(
            f"The first stage {name} orders nothing: zero weights are its optimum on these rows; use 'logistic', "
            "other columns, or TopPush with threshold='quantile' and a larger k."
        )


def _strongest(
    name: str,
    top: int,
    numeric: Indices | None,
    rows: TableRows,
    y: Floats,
    qid: Indices | None,
    sample_weight: Floats | None,
) -> Indices:
    """The columns that move the score of the whole regression most, by a deviation of each."""
    if numeric is None:
        raise InputError(
            f"first_stage is {name!r}, and {TOP}{top} is for tables of numbers that miss none, without squares and "
            "head; leave it out, or use columns of numbers alone."
        )
    stage, _ = fit_first_stage(name.replace(f"+{TOP}{top}", ""), rows, y, qid, sample_weight)
    assert stage.coef is not None
    strength = np.abs(stage.coef[numeric]) * deviations(rows.inputs(numeric))
    return np.sort(numeric[np.argsort(-strength, kind="stable")[:top]])


def _fitted_as(
    name: str, named: bool, estimator: Any, seen: Any, y: Floats, qid: Indices | None, sample_weight: Floats | None
) -> Any:
    """A fitted clone, or an error that names the first stage where it cannot be fitted."""
    if thawed(estimator) is not estimator:
        raise InputError(f"The first stage {name} is frozen and not fitted; fit it first, or do not freeze it.")
    with (
        one_thread(math.prod(np.shape(seen))) if named else nullcontext(),
        np.errstate(over="ignore", invalid="ignore"),  # a score that is not finite is refused where it is taken
    ):
        try:
            found = fitted(estimator, seen, y, qid, sample_weight)
        except (ArithmeticError, ValueError) as error:  # LinAlgError is a ValueError
            if not named or isinstance(error, InputError):
                raise
            why = (str(error).splitlines() or [type(error).__name__])[0][:90]
            raise InputError(
                f"The first stage {name} cannot be fitted to these rows ({why}); scale columns of very large or "
                "small numbers, or choose another first_stage."
            ) from error
    return found


def _affine(estimator: Any, rows: TableRows, numeric: Indices | None, scores: Floats) -> tuple[Floats | None, float]:
    """Weights of all input columns, if the score is affine in those that hold numbers."""
    d = len(rows.columns.inputs)
    which = np.arange(d) if numeric is None else numeric
    if (numeric is None and rows.columns.numeric.size < d) or is_sparse(rows.given):
        return None, 0.0
    own, intercept = affine_part(estimator, rows.inputs(which), scores)
    if own is None:
        return None, 0.0
    coef = np.zeros(d)
    coef[which] = own
    return coef, intercept


def _ready(first_stage: Any, rows: TableRows) -> tuple[FirstStage, Floats] | None:
    """Scores that need no fit: a column, an array with one score a row, or what a function makes of the table."""
    if isinstance(first_stage, str):
        if is_own_name(first_stage) or first_stage not in rows.columns.inputs:
            return None
        coef, place = np.zeros(len(rows.columns.inputs)), rows.columns.inputs.index(first_stage)
        if place not in rows.columns.numeric:
            raise InputError(
                f"first_stage is the column {first_stage!r}, which holds no numbers or misses some; fill the scores "
                "in, or drop the rows without one."
            )
        coef[place] = 1.0
        stage = FirstStage(f"column {first_stage}", None, coef, frozen=True)
        return stage, stage.scores(rows)
    if isinstance(first_stage, np.ndarray | list | tuple) or type(first_stage).__name__ == "Series":
        scores = np.asarray(rows.there.of(first_stage, "first_stage"), dtype=np.float64)
        if scores.shape != (rows.n,) or not np.isfinite(scores).all():
            raise InputError(
                f"first_stage is an array of shape {scores.shape}; give one finite score for each of the {rows.n} rows."
            )
        return FirstStage("an array of scores", None, None, frozen=True), scores
    learns = any(hasattr(first_stage, each) for each in ("fit", "predict"))
    if callable(first_stage) and not (learns or isinstance(first_stage, type)):
        stage = FirstStage(name_of(first_stage), first_stage, None, frozen=True)
        return stage, stage.scores(rows)
    return None


def linear_stage(weights: Any, rows: TableRows) -> tuple[FirstStage, Floats]:
    """A prior of weights, one for each column that can be reranked; "equal" is one over each standard deviation."""
    chosen = rows.columns.chosen
    if rows.columns.transformer is not None:
        raise InputError("A prior of weights is for columns of X, and features makes others; give it a first stage.")
    table = rows.inputs(chosen)
    if isinstance(weights, str):
        spread = deviations(table)
        with np.errstate(over="ignore"):  # scores that are not finite are refused
            own, name = np.divide(1.0, spread, out=np.zeros(chosen.size), where=spread > 0), "equal weights"
    else:
        own, name = np.asarray(weights, dtype=np.float64), "given weights"
        if own.shape != (chosen.size,) or not np.isfinite(own).all():
            raise InputError(
                f"prior has shape {own.shape}; give 'auto', 'equal', or one finite weight for each of the "
                f"{chosen.size} columns that are reranked."
            )
    coef = np.zeros(len(rows.columns.inputs))
    coef[chosen] = own
    stage = FirstStage(name, None, coef, frozen=True)
    return stage, stage.scores(rows)


@uncounted()
def _logistic(name: str, rows: TableRows) -> tuple[Any, str]:
    """The regression by that name, of numbers where there is nothing else to learn from; columns left out, told."""
    from rerank.scorers import TableLogistic

    options, columns, sparse = variant_options(name), rows.columns, is_sparse(rows.given)
    plain, said = not options.keys() - {"balanced"}, ""
    if sparse:
        plain = not options
    elif plain and columns.numeric.size < len(columns.inputs):
        from rerank.scorers.encoding import Numbers, learned, learned_in_words

        rules, left_out = learned(rows.given, None, columns.inputs)
        complete = set(columns.numeric.tolist())
        plain = bool(rules) and all(isinstance(rule, Numbers) and rule.at in complete for rule in rules)
        said = learned_in_words(rules, left_out, columns.inputs, TableLogistic.learner) if plain else ""
    if not plain:
        return TableLogistic(**options), ""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000, class_weight="balanced" if options else None), said


@uncounted()
def _named(name: str, rows: TableRows, random_state: Any) -> Any:
    """The scorer that a name stands for."""
    if name not in SCORERS:
        if name.casefold() == "none":  # the word for it on the command line, and in Python no word
            raise InputError(
                f"first_stage is the text {name!r}; give None, without quotes, for no first stage (on the command line "
                "--first-stage none)."
            )
        meant = nearest(name, (*NAMES, *rows.columns.inputs))
        raise InputError(
            f"Unknown first stage {name!r}; did you mean {meant!r}? Known: {', '.join(NAMES)}, the name of a column, "
            "and None for no first stage (on the command line: none)."
        )
    scorer_class, options = SCORERS[name]
    scorer = getattr(importlib.import_module("rerank.scorers"), scorer_class)(**options)
    if "random_state" in scorer.get_params():
        scorer.set_params(random_state=random_state)
    return scorer


GROUPED = ("group", "group_id")
"""Parameters of ``fit`` by which rankers learn where lists end: LightGBM and XGBoost, CatBoost."""

LEAST_CHANCE = 1e-15  # probabilities nearer to 0 or 1 are moved here, so that log-odds are finite
LEAST_COLUMN = 2.0**-1000
"""Columns of smaller numbers get no weight in their own unit, which would be beyond the largest number."""


@contextmanager
def names_optional() -> Iterator[None]:
    """No remark that a table has names and that of the fit had none, or the reverse, and none on huge numbers."""
    with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
        warnings.filterwarnings("ignore", message="X (does not have valid|has) feature names")
        yield


def is_fitted(estimator: Any) -> bool:
    """Whether an estimator has been fitted, or cannot be."""
    if not hasattr(estimator, "fit"):
        return True
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):
        return False
    return True


def fitted(estimator: Any, X: Any, y: Floats, qid: Indices | None, sample_weight: Floats | None) -> Any:
    """A fitted clone. Classifiers learn ``y > min(y)``, regressors, rankers and scorers that take grades the grade.
    Lists and weights go where ``fit`` takes them, rows sorted by list to rankers that take groups.
    """
    from sklearn import config_context, get_config
    from sklearn.base import clone, is_regressor
    from sklearn.pipeline import Pipeline
    from sklearn.utils.metadata_routing import get_routing_for_object
    from sklearn.utils.validation import has_fit_parameter

    fresh = clone(estimator)
    last = fresh.steps[-1] if isinstance(fresh, Pipeline) else None
    prefix, taker = (f"{last[0]}__", last[1]) if last else ("", fresh)
    parameters = inspect.signature(taker.fit).parameters
    grouped = next((name for name in GROUPED if name in parameters), "")  # by which a ranker learns its lists
    graded = grouped or is_regressor(fresh) or getattr(taker, "takes_grades", False)
    target = y if graded else (y > y.min()).astype(np.int64)
    if grouped:
        return _fitted_by_groups(fresh, prefix, grouped, X, target, qid, sample_weight)
    given = {key: values for key, values in (("sample_weight", sample_weight), ("qid", qid)) if values is not None}
    if get_config()["enable_metadata_routing"]:
        requested = get_routing_for_object(fresh).consumes("fit", given)
        if requested:
            return fresh.fit(X, target, **{key: given[key] for key in requested})
    extra = {prefix + key: values for key, values in given.items() if has_fit_parameter(taker, key)}
    # Nothing was requested, so nothing would be routed: the last step gets what it takes, as without routing.
    with config_context(enable_metadata_routing=False):
        return fresh.fit(X, target, **extra)


def _fitted_by_groups(
    fresh: Any, prefix: str, parameter: str, X: Any, y: Floats, qid: Indices | None, sample_weight: Floats | None
) -> Any:
    """A ranker that wants rows sorted by list, and the sizes or the ids of the lists."""
    lists = np.zeros(y.size, dtype=np.intp) if qid is None else np.asarray(qid)
    order = np.argsort(lists, kind="stable")
    sizes = np.unique(lists, return_counts=True)[1]
    target = y[order].astype(np.int64) if np.all(y == np.rint(y)) else y[order]
    extra: dict[str, Any] = {prefix + parameter: sizes if parameter == "group" else lists[order]}
    weighs_rows = parameter == "group_id" or not type(fresh).__module__.startswith("xgboost")
    if sample_weight is not None and weighs_rows:  # XGBoost weighs lists, not rows
        extra[prefix + "sample_weight"] = sample_weight[order]
    return fresh.fit(some_rows(X, order), target, **extra)


LOOKED_AT = 20_000  # rows


def log_odds(estimator: Any, X: Any, scores: Floats) -> bool:
    """Whether scores are the log-odds of the estimator's own probabilities, and so can be compared between models; on
    every so many of very many rows.
    """
    if not hasattr(estimator, "predict_proba"):
        return False
    if not hasattr(estimator, "decision_function"):
        return True
    with names_optional():
        some = np.arange(0, scores.size, 1 + scores.size // LOOKED_AT)
        likely, scores = np.asarray(estimator.predict_proba(some_rows(X, some)), dtype=np.float64)[:, -1], scores[some]
    # The decisions of support vector machines, for example, are no log-odds.
    return bool(np.allclose(likely, 1.0 / (1.0 + np.exp(-np.clip(scores, -700.0, 700.0))), atol=1e-6))


def scores_of(estimator: Any, X: Any, n: int) -> Floats:
    """Score of each row, larger is better: decisions, else the log-odds of the last class, else predictions."""
    with names_optional():  # a user's estimator fitted on a frame may be given the same columns as an array
        if hasattr(estimator, "decision_function"):
            raw = estimator.decision_function(X)
        elif hasattr(estimator, "predict_proba"):
            likely = np.clip(np.asarray(estimator.predict_proba(X), dtype=np.float64), LEAST_CHANCE, 1.0)[:, -1]
            raw = np.log(likely) - np.log(np.maximum(1.0 - likely, LEAST_CHANCE))
        elif hasattr(estimator, "predict"):
            raw = estimator.predict(X)
        else:
            raw = estimator(X)
    scores = np.asarray(raw, dtype=np.float64)
    name = name_of(estimator)
    if scores.shape != (n,):
        raise InputError(
            f"The first stage {name} gives scores of shape {scores.shape}; one score a row is needed, so use a binary "
            "classifier, a regressor or a ranker."
        )
    return finite(scores, name)


def finite(scores: Floats, name: str) -> Floats:
    """The scores of a first stage, refused where one is not finite."""
    if not np.isfinite(scores).all():
        raise InputError(f"The first stage {name} gives a score that is NaN or inf; it cannot order the rows.")
    return scores


def name_of(estimator: Any) -> str:
    """The class of an estimator, or the name of a function."""
    inside = thawed(estimator)
    return getattr(inside, "__name__", None) or type(inside).__name__


def affine_part(estimator: Any, X: Floats, scores: Floats) -> tuple[Floats | None, float]:
    """Weights (d,) and intercept of a linear model, perhaps scaled, if they give the ``scores`` of X; else None."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    whole = thawed(estimator)
    steps = [step for _, step in whole.steps] if isinstance(whole, Pipeline) else [whole]
    *before, last = map(thawed, steps)
    if not hasattr(last, "coef_") or not all(isinstance(step, StandardScaler) for step in before):
        return None, 0.0
    coef = np.asarray(last.coef_, dtype=np.float64).ravel()
    intercept = np.asarray(getattr(last, "intercept_", 0.0), dtype=np.float64).ravel()
    if coef.shape != (X.shape[1],) or intercept.size > 1:
        return None, 0.0
    constant = float(intercept[0]) if intercept.size else 0.0
    for scaler in reversed(before):
        if scaler.scale_ is not None:
            coef = coef / scaler.scale_
        if scaler.mean_ is not None:
            constant -= float(np.sum(coef * scaler.mean_))
    if not np.isfinite(coef).all():
        return None, 0.0
    # Poisson regression and others have coefficients too, but their scores are not linear; they are kept as estimators.
    size = np.abs(X) @ np.abs(coef) + abs(constant) + 1.0
    linear = np.all(np.abs(affine(X, coef, constant) - scores) <= 1e-9 * size)
    return (coef, constant) if linear else (None, 0.0)


def standardised(scorer: Any, X: Any, names: Sequence[str]) -> Any:
    """A pipeline of scaling and scorer; columns whose squares overflow or vanish are first divided by powers of two."""
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    ends = (X.max(axis=0), X.min(axis=0))
    top, bottom = (end.toarray().ravel() if is_sparse(end) else np.asarray(end) for end in ends)
    largest = np.maximum(top, -bottom)
    tiny = np.flatnonzero((largest > 0) & (largest < LEAST_COLUMN))
    if tiny.size:
        raise InputError(
            f"Column {names[tiny[0]]!r} holds no number above {largest[tiny[0]]:g}, and its weight would be "
            "no finite number; multiply that column by a constant."
        )
    units = np.asarray(unit(largest), dtype=np.float64)
    scaler = StandardScaler(with_mean=not is_sparse(X))
    if np.all(units == 1.0):
        return make_pipeline(scaler, scorer)
    divided = StandardScaler(with_mean=False)
    divided.mean_, divided.var_, divided.scale_, divided.n_features_in_ = None, None, units, units.size
    return make_pipeline(FrozenEstimator(divided), scaler, scorer)


def thawed(estimator: Any) -> Any:
    """The estimator inside a ``FrozenEstimator``."""
    if "sklearn" in sys.modules:  # else it is none
        from sklearn.frozen import FrozenEstimator

        while isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
    return estimator
