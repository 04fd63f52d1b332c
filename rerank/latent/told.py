"""A trained model of a log in words: its sizes, how training ended, and what each evaluation found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rerank.io.page import Cells, Part, Words

if TYPE_CHECKING:
    from rerank.latent.recommender import Recommender

LAST = 8
"""Evaluations that are shown, the last ones."""

ENDS = {
    "epochs": "Training ran all its epochs.",
    "validation": "Training stopped early: the validation part did not get better any more.",
    "interrupted": "Training was interrupted; it keeps what it had.",
    "diverged": "Training diverged; it keeps what it had before. A smaller learning_rate or a larger alpha may help.",
}


def parts(model: Recommender) -> list[Part]:
    """What is said of a trained model."""
    (users, factors), items = model.user_factors_.shape, len(model.item_factors_)
    size = f"{users:,} users, {items:,} items, {factors} factors; penalty {model.alpha_:.3g}."
    end = ENDS.get(model.stopped_, "")
    validated = any(entry["precision"] is not None for entry in model.history_)
    rows = [["epoch", "loss", *(["precision"] if validated else []), "seconds"]]
    for entry in model.history_[-LAST:]:
        precision = "-" if entry["precision"] is None else f"{entry['precision']:.4f}"
        mark = " *" if entry["epoch"] == model.n_epochs_ else ""
        number = f"{entry['epoch']}{mark}"
        rows.append([number, f"{entry['loss']:.4f}", *([precision] if validated else []), f"{entry['seconds']:.1f}"])
    sides = ["left", *["right"] * (len(rows[0]) - 1)]
    told = " ".join(part for part in (size, end, "The factors are those of the epoch with a star.") if part)
    return [Words(told), Cells(rows, sides, named=True)]
