"""The parameters of a fit, each written once: its default, its kind, and how the command line and model files have it.

:class:`rerank.Reranker` takes them, ``rerank fit`` makes its options of them, a model file keeps those that are kept.
Nothing is imported here that takes time, so that the command line can show its help at once.
"""

# ruff: noqa: RUF009 (option returns a field)

import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints

from rerank.errors import InputError

SAME = object()  # a default that is the parameter's own


@dataclass(frozen=True)
class Spelling:
    """How the command line has a parameter."""

    help: str
    names: tuple[str, ...]  # of the option; none for the parameter's own
    kind: Any  # what stands behind the option, bool for nothing; None for the parameter's own kind
    default: Any
    read: Callable[[Any], Any] | None  # from what stands there to the parameter


def option(
    default: Any,
    *names: str,
    help: str = "",
    kind: Any = None,
    shown: Any = SAME,
    read: Callable[[Any], Any] | None = None,
    kept: bool = False,
    before: Any = SAME,
) -> Any:
    """A parameter of a fit and its :class:`Spelling`; without ``help`` the command has none, ``shown`` is its default
    there. A model file keeps it if ``kept``; files that lack it stand for ``before``, or the default.
    """
    spelling = Spelling(help, names, kind, default if shown is SAME else shown, read) if help else None
    metadata = {"spelling": spelling, "kept": kept, "before": default if before is SAME else before}
    return field(default=default, metadata=metadata)


def split_names(text: str | None) -> list[str] | None:
    """Names with commas between."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


Params = dict[str, Any]
"""Parameters of an estimator by name."""


def worded(words: Mapping[str, Any], wrong: str, text: str, number: type = int) -> Any:
    """What a word stands for, else a number; ``wrong`` says in a sentence that a text is neither."""
    try:
        return words[text] if text in words else number(text)
    except ValueError:
        raise InputError(wrong.format(repr(text))) from None


def _margin(text: str) -> float | str:
    """A margin as a number; what is none, such as auto and 1/20, as it is written."""
    with suppress(ValueError):
        return float(text)
    return text


def _squares(wanted: bool) -> Any:
    from rerank.scorers import Squares

    return Squares() if wanted else None


def _prior(text: str) -> str | dict[str, float]:
    """A prior by name, or NAME=WEIGHT with commas between."""
    if "=" not in text:
        return text
    try:
        pairs = [part.partition("=") for part in text.split(",")]
        found = {name.strip(): float(weight) for name, _, weight in pairs}
    except ValueError:
        found = {}
    if len(found) < text.count(",") + 1:  # a weight that is no number, or a run twice
        raise InputError(
            f"--prior is {text!r}; it must be auto, equal, logistic, rrf, or NAME=WEIGHT with commas between, each "
            "name once."
        )
    return found


def named_values(option: str, given: list[str] | None) -> dict[str, Any]:
    """Values by name, of an option NAME=VALUE that may be repeated; one that can be read as JSON is what it says."""
    found: dict[str, Any] = {}
    for text in given or ():
        name, sign, value = text.partition("=")
        if not name.strip() or not sign:
            raise InputError(f"{option} is {text!r}; write NAME=VALUE, such as threads=2.")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value
    return found


CANDIDATES = "--candidates is {}; it must be a whole number, 0 for all, or auto."
FOLDS = "--cross-fit is {}; it must be auto, none or a number of folds."
DEPTH = "--depth is {}; it must be auto, all or a number."
RADIUS = "--radius is {}; it must be auto, free or a number."
# Read, not imported: the catalogue imports NumPy, and help needs its names alone.
CATALOGUE = (Path(__file__).parents[1] / "statistics" / "catalogue.py").read_text(encoding="utf-8")
STEMS = re.findall(r'^    stem = "(.+)"$', CATALOGUE, re.MULTILINE)
STATISTICS = (
    f"{', '.join(STEMS)}. A number of places follows @: dcg@10, or a share of the list: precision@2%. window2@100 has "
    "a width, pnorm@4 and rbp@0.8 have a power."
)
STAGES = (
    "auto: what held-out rows choose, without them logistic regression; logistic, also with +squares, +head10, "
    "+head20, +head40, +balanced or +top3, trees, forest, lambdarank (LightGBM's), toppush, ranksvm, robirank, a "
    "column of scores, or none; several, with commas between, are a blend."
)


def _stages(text: str) -> str | list[str] | None:
    """A first stage by name, or several with commas between."""
    names = [name.strip() for name in text.split(",")]
    return None if text == "none" else names if len(names) > 1 else text


@dataclass(eq=False, repr=False)
class RerankerOptions:
    """Parameters of a fit; :class:`rerank.Reranker` says what they mean, :mod:`rerank.reranker.task` checks them."""

    stat: Any = option("dcg@10", help=STATISTICS, kind=str)
    _: KW_ONLY
    first_stage: Any = option("auto", help=STAGES, kind=str, read=_stages)
    n_candidates: int | str | None = option(
        "auto",
        "--candidates",
        help="Rows of each list that are reranked: a number, 0 for all, or auto.",
        kind=str,
        read=lambda text: worded({"auto": "auto"}, CANDIDATES, text) or None,
    )
    formulation: str = option(
        "auto", help="auto, subrank, resolved_rank, mixed, auc, pairwise or pos_top.", kept=True, before="subrank"
    )
    solver: str = option("highs", help="highs, search, none, cbc, scip, glpk, gurobi, ...", kept=True)
    presolve: bool = option(True, help="Let the search in weight space go first.", kept=True)
    time_limit: float | None = option(60.0, help="Seconds for everything.", kept=True)
    node_limit: int | None = option(
        None, help="Stop the search after so many boxes, at the same place on every run.", kept=True
    )
    margin: Any = option(
        "auto",
        "--margin",
        "--epsilon",
        help="Least lead that counts: in deviations with --radius, in the score with --normalise, else in the scaled "
        "score; or auto.",
        kind=str,
        read=_margin,
        kept=True,
        before=None,
    )
    C: float = option(0.0, "--C", help="Penalty for one feature, in the unit of the statistic.")
    max_features: int | None = option(None, help="At most this many columns, those of a logistic regression included.")
    positive: Any = option(False, help="Non-negative weights only.", kind=bool)
    gain: Any = option("exponential", help="Worth of a grade g: exponential (2^g - 1) or linear.", kind=str)
    pos_label: Any = option(None)
    prior: Any = option("auto")
    radius: float | None = option(None, help="Correct the first stage by at most this much, in deviations.", kept=True)
    window: float | None = option(None, help="Fit hits around place N, with this width (2).", kept=True)
    cross_fit: bool | int | str = option(
        "auto",
        help="Out-of-fold scores: auto, none or a number of folds.",
        kind=str,
        kept=True,
        read=partial(worded, {"auto": "auto", "none": False}, FOLDS),
    )
    features: Any = option(
        None,
        "--squares",
        help="Rerank squares of the columns too; with --cv where they lead.",
        kind=bool,
        shown=False,
        read=_squares,
    )
    constraints: Any = option(
        (),
        "--constraint",
        help="A row on the weights, such as 'age >= 2 * income'; once for each.",
        kind=list[str] | None,
        shown=None,
        read=lambda texts: tuple(texts or ()),
    )
    normalise: str | None = option(None, help="sum: weights from 0 on with sum 1, in the table's units.")
    quota: Any = option(
        None,
        help="'at least 20 of A among the first 200', by kinds of rows (--people); may be repeated.",
        kind=list[str] | None,
        read=lambda texts: texts or None,
    )
    list_length: int | None = option(None, help="Rows of the lists to come, if not as many as here.", kept=True)
    solver_options: Mapping[str, Any] | None = option(
        None,
        "--solver-option",
        kind=list[str] | None,
        help="NAME=VALUE for the solver: threads, gap, node_limit, cutoff, seed, log, start (as JSON), or an option of "
        "its own; repeatable.",
        read=lambda given: named_values("--solver-option", given) or None,
    )
    proof: bool = option(
        False,
        help="Where to write the search's proof, for verify --proof.",
        kind=Path | None,
        shown=None,
        read=lambda path: path is not None,
    )
    checkpoint: str | os.PathLike[str] | None = option(
        None, help="Where to keep the state of the search; the same command goes on with it.", kind=Path | None
    )
    n_jobs: int | None = option(None, "--jobs", help="Cores; -1 for all.", shown=1, kept=True)
    random_state: Any = option(None, "--seed", help="Seed of everything random.", kind=int, shown=0)
    verbose: int = option(
        0,
        "--verbose",
        "-v",
        help="The solver's own log, on standard error.",
        kind=bool,
        shown=False,
        read=lambda wanted: 2 if wanted else 1,
        kept=True,
    )


RENAMED = {"epsilon": ("margin", ", with normalise in units of the score")}
"""Parameters of the last release that have another name now."""

KEPT: Params = {each.name: each.metadata["before"] for each in fields(RerankerOptions) if each.metadata["kept"]}
"""Parameters among the settings of a model file, and their values in files that lack them."""


def values_of(options: RerankerOptions) -> Params:
    """The parameters by name; those of an estimator are what its ``get_params`` gives."""
    return {each.name: getattr(options, each.name) for each in fields(RerankerOptions)}


def copied(options: RerankerOptions) -> RerankerOptions:
    """The parameters alone, of an estimator too, so that nothing changes them afterwards."""
    return RerankerOptions(**values_of(options))


def may_correct(options: RerankerOptions) -> bool:
    """Whether a radius may be given: ResolvedRank, and weights of sum 1, cannot correct a given score."""
    return options.formulation != "resolved_rank" and options.normalise is None


@dataclass(eq=False, repr=False)
class FusionOptions:
    """Parameters of a fusion; :class:`rerank.fusion.ScoreFusion` says what they mean."""

    stat: Any = option("ndcg@10", help="What is fitted: ndcg@10 (default), ap, rr, recall@N ...", kind=str)
    _: KW_ONLY
    normalise: Any = option(
        "auto",
        kind=str,
        help="none, minmax, z, rank, sigmoid; several with commas, of which the folds choose; or auto (default).",
        read=lambda text: text if text == "auto" else split_names(text),
    )
    prior: Any = option(
        "auto",
        kind=str,
        help="Weights to correct: auto (default), equal, logistic, rrf, or NAME=WEIGHT,...",
        read=_prior,
    )
    radius: float | str | None = option(
        "auto",
        help="Largest correction: auto (default), a number, or free for any weights.",
        kind=str,
        read=partial(worded, {"auto": "auto", "free": None}, RADIUS, number=float),
    )
    cv: int | None = option(
        5,
        help="Folds of queries that choose and guard: 5 (default), 0 for none.",
        kind=int,
        read=lambda folds: folds or None,
    )
    safeguard: float = option(1.5)
    positive: bool = option(True, "--negative", help="Allow weights below 0.", kind=bool, read=lambda below: not below)
    gain: Any = option("linear", help="Worth of a grade g: linear (default) or exponential.", kind=str)
    missing: str = option("lowest", help="For documents a run lacks: lowest (default), zero or impute.")
    depth: int | str | None = option(
        "auto",
        kind=str,
        help="Documents of each run that count: 100 for at most 20 places (auto, default), or all.",
        read=partial(worded, {"auto": "auto", "all": None}, DEPTH),
    )
    k: float = option(60.0, help="Constant of rank and RRF: 60 by default.")
    margin: float | None = option(None)
    constraints: Any = option(
        (),
        "--constraint",
        help="A floor of a run's share, such as 'bm25 >= 0.3'; once for each.",
        kind=list[str],
        read=lambda texts: tuple(texts or ()),
    )
    time_limit: float | None = option(60.0, help="Seconds for the fit: 60 by default.")
    node_limit: int | None = option(None)
    proof: bool = option(False)
    n_jobs: int | None = option(None, "--jobs", help="Cores; -1 for all.")
    random_state: Any = option(None, "--seed", help="Seed of everything random: 0 by default.", kind=int)
    verbose: int = option(0)


def spellings(options: type[Any]) -> dict[str, Spelling]:
    """How the command line has each parameter that it has."""
    kinds, found = get_type_hints(options), {}
    for each in fields(options):
        if (spelling := each.metadata["spelling"]) is not None:
            kind, dashed = spelling.kind or kinds[each.name], f"--{each.name.replace('_', '-')}"
            names = spelling.names or (f"{dashed}/--no-{dashed[2:]}" if kind is bool else dashed,)
            found[each.name] = replace(spelling, kind=kind, names=names)
    return found


def parameters(options: type[Any], given: Mapping[str, Any]) -> Params:
    """The parameters that options of the command line stand for."""
    readers = {name: spelling.read for name, spelling in spellings(options).items()}
    return {name: value if (read := readers[name]) is None else read(value) for name, value in given.items()}
