"""Fitted rerankers as model files: every number to the last bit, and nothing that runs when it is read."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank.errors import InputError, NotSupportedError
from rerank.reranker.files import model_file
from rerank.reranker.files.model_file import ModelDocument
from rerank.reranker.files.result_json import result_from_flat, result_to_flat
from rerank.reranker.first_stage import FirstStage
from rerank.reranker.settings import check
from rerank.statistics import Custom, RankStatistic, parse
from rerank.statistics.thinned import Thinned

if TYPE_CHECKING:
    from rerank.reranker.estimator import Reranker

# Names of the columns a command read; parameters a model file keeps beside those with a field of their own.
COLUMNS = ("label_column", "qid_column", "id_column", "weight_column", "positive_label")
KEPT = ("formulation", "solver", "presolve", "time_limit", "thinning", "n_jobs", "verbose")


def document(est: Reranker) -> ModelDocument:
    """The fitted estimator as a model document."""
    stage = est._stage
    opaque = stage is not None and stage.coef is None
    statistic = parse(est.stat)
    custom = isinstance(statistic, Custom)
    if custom and callable(statistic.a):  # type: ignore[attr-defined]
        raise NotSupportedError(
            "A statistic made of a function cannot be written to a file; give its coefficients a_1..a_n instead."
        )
    low, high = est._low, est._high
    return ModelDocument(
        statistic=None if custom else statistic.name,
        coefficients=np.array(statistic.a) if custom else None,  # type: ignore[attr-defined]
        feature_names=est._names(),
        features=est._columns,
        low=low,
        high=high,
        weights=est._weights if est._weights.size == low.size else np.zeros(low.size),
        epsilon=est.result_.epsilon,
        gain=est.gain,
        C=est.result_.C,
        max_features=est.max_features,
        signs=est._settings.signs[est._columns].astype(np.intp),
        first_stage=None if stage is None or opaque else stage.name,
        first_stage_coef=None if stage is None or opaque else stage.coef,
        first_stage_intercept=None if stage is None or opaque else stage.intercept,
        threshold=est.threshold_ if math.isfinite(est.threshold_) else None,
        n_candidates=est.n_candidates,
        result=result_to_flat(est.result_),
        settings={
            **{name: getattr(est, name) for name in KEPT},
            "positive": est.positive if isinstance(est.positive, bool) else "signs",
            "reranks": bool(est.reranks_),
            "opaque_first_stage": stage.name if opaque and stage is not None else None,
            "weighted_lists": est._weighted_lists,
            "named_features": hasattr(est, "feature_names_in_"),
            **getattr(est, "_columns_read", {}),
        },
        versions=versions(),
        data_sha256=getattr(est.result_.certificate, "data_sha256", None),
        random_state=est._settings.seed,
    )


def versions() -> dict[str, str]:
    """Versions of this package and of what its numbers depend on."""
    from importlib.metadata import PackageNotFoundError, version

    from rerank import __version__

    found = {"exact-rerank": __version__}
    for name in ("numpy", "scipy", "scikit-learn", "highspy", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def save(est: Reranker, path: str | os.PathLike[str]) -> None:
    """Write the model file."""
    model_file.write(path, document(est))


def load(path: str | os.PathLike[str], first_stage: Any = None) -> Reranker:
    """The estimator of a model file."""
    return restore(model_file.read(path), first_stage, str(path))


def statistic_of(doc: ModelDocument) -> RankStatistic:
    """The fitted statistic, thinning included."""
    statistic = parse(doc.statistic) if doc.coefficients is None else Custom(tuple(doc.coefficients.tolist()))
    rho = doc.settings.get("thinning")
    return statistic if rho is None else Thinned(statistic, rho)


def restore(doc: ModelDocument, first_stage: Any = None, where: str = "the model") -> Reranker:
    """The estimator a document describes."""
    from rerank.reranker.estimator import Reranker

    opaque = doc.settings.get("opaque_first_stage")
    if opaque is not None and first_stage is None:
        raise InputError(
            f"{where} was fitted with the first stage {opaque}, which is no file of numbers; pass the fitted "
            "estimator as "
            "rerank.load(path, first_stage=...)."
        )
    statistic = doc.statistic if doc.coefficients is None else np.array(doc.coefficients)
    known = {name: doc.settings[name] for name in KEPT if name in doc.settings}
    positive = doc.settings.get("positive", False)
    d = len(doc.feature_names)
    signs = np.zeros(d, np.intp)
    if doc.signs is not None:
        signs[doc.features] = doc.signs
    est = Reranker(
        statistic, first_stage=doc.first_stage or first_stage, n_candidates=doc.n_candidates,
        epsilon=doc.epsilon, C=doc.C, max_features=doc.max_features, positive=signs.tolist() if positive ==
        "signs" else positive, gain=doc.gain, random_state=doc.random_state, **known,
    )  # fmt: skip
    est.n_features_in_ = d
    if doc.settings.get("named_features", True):
        est.feature_names_in_ = np.array(doc.feature_names, dtype=object)
    else:
        est._column_names = doc.feature_names
    stage = None
    if doc.first_stage_coef is not None:
        stage = FirstStage(
            str(doc.first_stage), None, doc.first_stage_coef, float(doc.first_stage_intercept or 0.0)
        )
    elif opaque is not None:
        stage = FirstStage(str(opaque), first_stage, None)
    est._weighted_lists = bool(doc.settings.get("weighted_lists", False))
    est._columns_read = {key: doc.settings[key] for key in COLUMNS if key in doc.settings}
    est._columns, est._low, est._high, est._weights = doc.features, doc.low, doc.high, doc.weights
    est._settings = check(est, d)
    est._publish(
        stage, -math.inf if doc.threshold is None else doc.threshold, bool(doc.settings.get("reranks", True)),
        result_from_flat(doc.result, doc.weights, statistic_of(doc).name, doc.gain, doc.epsilon, doc.C),
    )  # fmt: skip
    return est
