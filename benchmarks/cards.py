"""Cards of points: seconds to the proof beside FasterRisk, and values on held-out rows beside simple scores.

``python -m benchmarks.cards --data FOLDER`` prints the seconds; with ``--held-out`` it compares on held-out rows, cell
by cell into ``benchmarks/cards.jsonl``, and prints the table of ``docs/cards-measured.md``; with ``--sizes`` cards of
four to ten questions beside FasterRisk's, into ``benchmarks/cards-sizes.jsonl``, with ``--losses`` log loss, into
``benchmarks/cards-losses.jsonl``.  FasterRisk asks for an old
scikit-learn, so it runs in an environment of its own: ``--fasterrisk PYTHON`` is the Python of that.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import arrays, folder
from rerank.scorecard import Scorecard, search
from rerank.scorecard.likelihood import link_of

CELLS = Path(__file__).with_name("cards.jsonl")
SIZES_CELLS = Path(__file__).with_name("cards-sizes.jsonl")

SPEED = [
    ("german", 4),
    ("riskslim_adult", 4),
    ("riskslim_adult", 5),
    ("riskslim_breastcancer", 4),
    ("credit_default", 3),
    ("credit_default", 4),
    ("german", 3),
    ("german", 5),
    ("diabetes", 4),
    ("riskslim_mammo", 4),
]
BESIDE = 4  # largest number of questions at which FasterRisk runs, too

TABLES = [
    "german",
    "diabetes",
    "australian",
    "haberman",
    "uis",
    "compas",
    "ionosphere",
    "riskslim_mammo",
    "riskslim_breastcancer",
    "spambase",
]
SPLITS, QUESTIONS, DELTA, SETS = 20, 4, 0.005, 25
LOSSES_CELLS, LOSSES = Path(__file__).with_name("cards-losses.jsonl"), (3, 4, 5, 6, 8, 10)
SIZES = (4, 5, 6, 8, 10)
SPLITS_OF_SIZES = [(name, split) for split in range(4) for name in (TABLES if split < 3 else TABLES[:4])]

THEIRS = """
import json, sys, time
import numpy as np
from fasterrisk.fasterrisk import RiskScoreOptimizer
from sklearn.metrics import log_loss, roc_auc_score
a = np.load(sys.argv[1])
y = np.where(a["y"], 1.0, -1.0)
began = time.process_time()
fit = RiskScoreOptimizer(X=a["X"].astype(float), y=y, k=int(sys.argv[2]), lb=-5, ub=5)
fit.optimize()
seconds = time.process_time() - began
scales, starts, points = fit.get_models()
values = [roc_auc_score(y, a["X"] @ one) for one in points]
held = [roc_auc_score(a["y2"], a["X2"] @ points[0])] if "X2" in a else []
def risks(X, i):
    return 1 / (1 + np.exp(-(starts[i] + X @ points[i]) / scales[i]))
losses = [log_loss(y, risks(a["X"], i)) for i in range(len(points))]
risk = risks(a["X2"], 0).tolist() if "X2" in a else []
print(json.dumps({"first": values[0], "best": max(values), "seconds": seconds, "held": held, "loss": min(losses),
                  "risk": risk}))
"""


def fasterrisk(python: str, questions: int, **arrays: Any) -> dict[str, Any]:
    """What FasterRisk finds on answers ``X`` (n, questions) and labels; its first card's AUC on ``X2``, ``y2``."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npz"
        np.savez(path, **arrays)
        done = subprocess.run(
            [python, "-c", THEIRS, str(path), str(questions)], capture_output=True, text=True, check=True
        )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def timed(call: Callable[[], Any], many: int = 3) -> tuple[Any, float]:
    """What a call returns, and the median of its CPU seconds, threads counted."""
    seconds, answer = [], None
    for _ in range(many):
        began = time.process_time()
        answer = call()
        seconds.append(time.process_time() - began)
    return answer, float(np.median(seconds))


def answers(card: Scorecard, X: Any) -> NDArray[np.bool_]:
    """Answers (n, questions) of rows to all questions that a card was chosen from."""
    return np.column_stack([question.answers(X) for question in card.questions_])


Load = Callable[[str], tuple[NDArray[np.float64], NDArray[np.bool_]]]


def speed(load: Load, python: str | None) -> None:
    """Seconds of the search with its proof."""
    warm = np.random.default_rng(0).normal(size=(200, 4))
    _, seconds = timed(lambda: Scorecard(n_questions=2, validation=None).fit(warm, warm[:, 1] + warm[:, 0] > 0), 1)
    print(f"a first card, with what has to be compiled: {seconds:.1f} CPU s")
    head = f"{'table':24}{'rows x questions':>18}{'k':>3}{'AUC':>9}{'sets':>12}{'searched':>10}{'CPU s':>8}"
    print(f"{head}   FasterRisk: first card, best of its pool")
    for name, k in SPEED:
        X, y = load(name)
        made = Scorecard(n_questions=k, validation=None, time_limit=None, n_jobs=2)
        card, seconds = timed(lambda: made.fit(X, y))  # noqa: B023
        result = card.result_
        theirs = ""
        if python is not None and k <= BESIDE:
            other = fasterrisk(python, k, X=answers(card, X), y=y)
            theirs = f"{other['first']:.5f}, {other['best']:.5f}, {other['seconds']:.2f} s"
        print(
            f"{name:24}{f'{len(y):,} x {result.n_questions}':>18}{k:>3}{result.value:>9.5f}{result.sets:>12,}"
            f"{result.searched:>10,}{seconds:>8.2f}   {theirs}{'' if result.status == 'optimal' else ' NOT PROVED'}",
            flush=True,
        )


def many_rows(rows: int = 10**6, questions: int = 60) -> None:
    """A table of independent answers, large."""
    draw = np.random.default_rng(0)
    X = np.empty((rows, questions))
    for j in range(questions):
        X[:, j] = draw.random(rows) < draw.uniform(0.1, 0.6)
    score = X[:, [3, 10, 20, 33, 41, 50]] @ np.array([1, 0.8, 0.7, -0.6, 0.5, 0.4]) - 2
    y = draw.random(rows) < 1 / (1 + np.exp(-score))
    before = time.process_time()
    card = Scorecard(n_questions=4, validation=None, time_limit=None, n_jobs=2).fit(X, y)
    seconds = time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    table = X.nbytes / 2**30
    print(
        f"drawn: {rows:,} x {questions}, k=4: AUC {card.result_.value:.5f}, {card.result_.status}, "
        f"{seconds:.1f} CPU s, {peak:.2f} GiB at most, of which the table is {table:.2f}"
    )


def stepwise(A: NDArray[np.bool_], y: NDArray[np.bool_], k: int) -> NDArray[np.float64]:
    """Points of forward selection by the likelihood of logistic regression, the largest weight scaled to 5."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    chosen: list[int] = []
    for _ in range(k):
        losses = {}
        for j in range(A.shape[1]):
            if j not in chosen:
                own = A[:, [*chosen, j]]
                losses[j] = log_loss(y, LogisticRegression(C=100).fit(own, y).predict_proba(own)[:, 1])
        chosen.append(min(losses, key=lambda j: losses[j]))
    return _rounded(A, y, chosen)


def lasso(A: NDArray[np.bool_], y: NDArray[np.bool_], k: int) -> NDArray[np.float64]:
    """Points of L1 logistic regression with at most k weights, fitted again on these and rounded."""
    from sklearn.linear_model import LogisticRegression

    chosen: list[int] = []
    for C in np.geomspace(1e-3, 1, 25):
        weights = LogisticRegression(C=C, l1_ratio=1.0, solver="liblinear").fit(A, y).coef_[0]
        own = np.flatnonzero(weights)
        if own.size > k:
            break
        chosen = own.tolist()
    return _rounded(A, y, chosen or [0])


def _rounded(A: NDArray[np.bool_], y: NDArray[np.bool_], chosen: list[int]) -> NDArray[np.float64]:
    from sklearn.linear_model import LogisticRegression

    weights = LogisticRegression(C=100).fit(A[:, chosen], y).coef_[0]
    points = np.zeros(A.shape[1])
    points[chosen] = np.round(5 * weights / np.abs(weights).max())
    return points


def held_out(load: Load, name: str, split: int, python: str | None) -> dict[str, Any]:
    """AUC on a third of the rows of cards and simple scores of the others."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    X, y = load(name)
    X1, X2, y1, y2 = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=split)
    card = Scorecard(n_questions=QUESTIONS, validation=None, n_jobs=2).fit(X1, y1)
    A1, A2 = answers(card, X1), answers(card, X2)
    found = {"table": name, "split": split, "proved": card.result_.status == "optimal", "n_test": int(y2.size)}

    def auc(scores: Any) -> float:
        return float(roc_auc_score(y2, scores))

    found["card"] = auc(card.total(X2))
    pool = card.pool(DELTA, most=2000)
    found["pool"] = len(pool)
    found["card chosen in its pool by folds"] = auc(best_by_folds(pool, X1, y1, split).total(X2))
    if python is not None:
        found["FasterRisk"] = fasterrisk(python, QUESTIONS, X=A1, y=y1, X2=A2, y2=y2)["held"][0]
    found["stepwise, rounded"] = auc(A2 @ stepwise(A1, y1, QUESTIONS))
    found["L1, rounded"] = auc(A2 @ lasso(A1, y1, QUESTIONS))
    plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X1, y1)
    found["logistic, all columns"] = auc(plain.decision_function(X2))
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X1, y1)
    found["tree of depth 3"] = auc(tree.predict_proba(X2)[:, 1])
    return found


def beside(load: Load, name: str, split: int, k: int, python: str) -> dict[str, Any]:
    """A card of k questions by exchange alone and FasterRisk's on two thirds of the rows: AUC there and on the others,
    CPU seconds.
    """
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import train_test_split

    X, y = load(name)
    X1, X2, y1, y2 = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=split)
    made = Scorecard(n_questions=k, validation=None, time_limit=None, n_jobs=1)
    search.MOST_MEMORY = 0
    card, seconds = timed(lambda: made.fit(X1, y1), 1)
    theirs = fasterrisk(python, k, X=answers(card, X1), y=y1, X2=answers(card, X2), y2=y2)
    value, held = card.result_.value, float(roc_auc_score(y2, card.total(X2)))
    return {"table": name, "split": split, "k": k, "value": value, "held": held, "seconds": seconds, "theirs": theirs}


def sizes() -> str:
    """By number of questions: mean AUC, wins and losses in training and held out, and median CPU seconds."""
    cells = [json.loads(line) for line in SIZES_CELLS.read_text().splitlines()]
    head = ["questions", "splits", "AUC in training, ours / best of FasterRisk's pool", "wins : losses"]
    head += ["held out, ours / FasterRisk's first card", "wins : losses", "median CPU s"]
    lines = [f"| {' | '.join(head)} |"]
    lines.append("|---" * 7 + "|")
    for k in SIZES:
        own = [cell for cell in cells if cell["k"] == k]
        if not own:
            continue
        mine, theirs = ([cell["value"] for cell in own], [cell["theirs"]["best"] for cell in own])
        held, other = ([cell["held"] for cell in own], [cell["theirs"]["held"][0] for cell in own])
        seconds = [np.median([cell["seconds"] for cell in own]), np.median([cell["theirs"]["seconds"] for cell in own])]
        parts = [k, len(own), _means(mine, theirs), _wins(mine, theirs), _means(held, other), _wins(held, other)]
        lines.append(f"| {' | '.join(map(str, parts))} | {seconds[0]:.2g} / {seconds[1]:.2g} |")
    return "\n".join(lines)


def beside_by_loss(load: Load, name: str, k: int, python: str) -> dict[str, Any]:
    """A card of the least log loss by exchange alone and FasterRisk's cards on two thirds of the rows; there their log
    loss, on the others log loss, AUC and error of calibration.
    """
    from sklearn.metrics import log_loss, roc_auc_score
    from sklearn.model_selection import train_test_split

    X, y = load(name)
    X1, X2, y1, y2 = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)
    made = Scorecard("logloss", n_questions=k, validation=None, time_limit=None)
    search.MOST_MEMORY = 0
    card, seconds = timed(lambda: made.fit(X1, y1), 1)
    theirs = fasterrisk(python, k, X=answers(card, X1), y=y1, X2=answers(card, X2), y2=y2)
    start, slope = link_of(card.total(X1), y1, ~y1)
    risk = 1 / (1 + np.exp(-(start + slope * card.total(X2))))

    def judged(one: Any) -> list[float]:
        return [float(log_loss(y2, one)), float(roc_auc_score(y2, one)), off(y2, np.asarray(one))]

    both = {"loss": [-card.result_.value, theirs["loss"]], "seconds": [seconds, theirs["seconds"]]}
    return {"table": name, "k": k, **both, "held": [judged(risk), judged(theirs["risk"])]}


def off(y: NDArray[np.bool_], risk: NDArray[np.float64]) -> float:
    """By how much mean risk and share of relevant rows differ in ten bins of rows, in the mean."""
    bins = np.array_split(np.argsort(risk, kind="stable"), 10)
    return float(sum(abs(y[own].mean() - risk[own].mean()) * own.size for own in bins) / y.size)


def losses() -> str:
    """By number of questions: log loss in training, and held out log loss, AUC and calibration, ours / FasterRisk's."""
    cells = [json.loads(line) for line in LOSSES_CELLS.read_text().splitlines()]
    head = ["questions", "tables", "log loss in training", "lower : higher", "log loss held out", "AUC held out"]
    lines = [f"| {' | '.join([*head, 'error of calibration', 'median CPU s'])} |", "|---" * 8 + "|"]
    for k in sorted({cell["k"] for cell in cells}):
        own = [cell for cell in cells if cell["k"] == k]
        loss, held = np.array([cell["loss"] for cell in own]), np.array([cell["held"] for cell in own]).mean(axis=0)
        seconds = np.median([cell["seconds"] for cell in own], axis=0)
        parts = [str(k), str(len(own)), _means(*loss.T.tolist()), _wins(*(-loss).T.tolist())]
        parts += [f"{one:.4f} / {two:.4f}" for one, two in held.T]
        lines.append(f"| {' | '.join(parts)} | {seconds[0]:.2g} / {seconds[1]:.2g} |")
    return "\n".join(lines)


def _means(mine: list[float], theirs: list[float]) -> str:
    return f"{np.mean(mine):.4f} / {np.mean(theirs):.4f}"


def _wins(mine: list[float], theirs: list[float]) -> str:
    leads = np.array(mine) - np.array(theirs)
    return f"{(leads > 1e-9).sum()} : {(leads < -1e-9).sum()}"


def best_by_folds(pool: Any, X: Any, y: NDArray[np.bool_], seed: int) -> Any:
    """The best card of the set of questions in a pool whose points, chosen in four folds, do best on the fifth."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold

    folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y))
    best = (-1.0, 0)
    known: set[Any] = set()
    for place in range(len(pool)):
        card = pool[place]
        if card.questions in known or len(known) >= SETS:
            continue
        known.add(card.questions)
        A = card.answers(X).T.astype(float)
        k = A.shape[1]
        every = Scorecard(n_questions=k, validation=None)
        values = [float(roc_auc_score(y[test], every.fit(A[train], y[train]).total(A[test]))) for train, test in folds]
        best = max(best, (float(np.mean(values)), -place))
    return pool[-best[1]]


def table() -> str:
    """Mean AUC by table, and leads of the card with corrected intervals [NadeauBengio2003]."""
    cells = [json.loads(line) for line in CELLS.read_text().splitlines()]
    names = [name for name in cells[0] if name not in ("table", "split", "proved", "n_test", "pool", "card")]
    lines = ["| table | splits | card | " + " | ".join(names) + " |", "|---" * (len(names) + 3) + "|"]
    for one in TABLES:
        own = [cell for cell in cells if cell["table"] == one]
        if own:
            values = [f"{np.mean([cell['card'] for cell in own]):.3f}"]
            values += [lead([cell["card"] - cell[name] for cell in own]) for name in names]
            lines.append(f"| {one} | {len(own)} | " + " | ".join(values) + " |")
    every = [[np.mean([c["card"] - c[name] for c in cells if c["table"] == one]) for one in TABLES] for name in names]
    means = [f"{np.mean(own):+.4f} ± {1.96 * np.std(own, ddof=1) / np.sqrt(len(own)):.4f}" for own in every]
    lines.append("| mean over tables | | | " + " | ".join(means) + " |")
    return "\n".join(lines)


def lead(leads: list[float]) -> str:
    """A mean lead with its interval of 95 %, corrected for training rows that splits share: a third is held out."""
    from scipy.stats import t

    many = len(leads)
    error = np.std(leads, ddof=1) * np.sqrt(1 / many + 0.5) if many > 1 else np.nan
    return f"{np.mean(leads):+.3f} ± {t.ppf(0.975, many - 1) * error:.3f}" if many > 1 else f"{leads[0]:+.3f}"


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder of data sets")
    parser.add_argument("--fasterrisk", metavar="PYTHON", help="Python of an environment with FasterRisk")
    parser.add_argument("--held-out", action="store_true", help="compare on held-out rows")
    parser.add_argument("--sizes", action="store_true", help="four to ten questions beside FasterRisk's")
    parser.add_argument("--losses", action="store_true", help="log loss of three to ten questions")
    parser.add_argument("--rows", action="store_true", help="a million rows")
    parser.add_argument("--splits", type=int, default=SPLITS)
    given = parser.parse_args()
    where = folder(given.data)
    if where is None:
        raise SystemExit(f"{given.data} is no folder; give the one that holds the data sets.")

    def load(name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        found = arrays(where, name)
        return found["X"], found["y"] > 0

    if given.held_out:
        known = CELLS.read_text().splitlines() if CELLS.exists() else []
        done = {(cell["table"], cell["split"]) for cell in map(json.loads, known)}
        for split in range(given.splits):
            for name in TABLES:
                if (name, split) not in done:
                    cell = held_out(load, name, split, given.fasterrisk)
                    with CELLS.open("a") as file:
                        file.write(json.dumps(cell) + "\n")
                    print(cell, file=sys.stderr)
        print(table())
    elif given.sizes:
        known = SIZES_CELLS.read_text().splitlines() if SIZES_CELLS.exists() else []
        found = {(cell["table"], cell["split"], cell["k"]) for cell in map(json.loads, known)}
        if given.fasterrisk is None:
            raise SystemExit("--sizes compares with FasterRisk; give --fasterrisk PYTHON.")
        for name, split in SPLITS_OF_SIZES:
            for k in SIZES:
                if (name, split, k) not in found:
                    with SIZES_CELLS.open("a") as file:
                        file.write(json.dumps(beside(load, name, split, k, given.fasterrisk)) + "\n")
        print(sizes())
    elif given.losses:
        known = LOSSES_CELLS.read_text().splitlines() if LOSSES_CELLS.exists() else []
        there = {(cell["table"], cell["k"]) for cell in map(json.loads, known)}
        for k, name in [(k, name) for k in LOSSES for name in TABLES if (name, k) not in there]:
            with LOSSES_CELLS.open("a") as file:
                file.write(json.dumps(beside_by_loss(load, name, k, given.fasterrisk)) + "\n")
        print(losses())
    elif given.rows:
        many_rows()
    else:
        speed(load, given.fasterrisk)


if __name__ == "__main__":
    main()
