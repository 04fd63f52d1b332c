# %% [markdown]
# # A proof, and what it says
#
# A fit that ends with "Proved optimal" claims that no allowed weights are better. The search can write down why, and
# code that shares nothing with the search checks that in exact arithmetic. Here is a small table, patients after an
# operation; those who died within five years are to stand at the top. Logistic regression on two features gives a
# score, and the weights of both may be corrected, each by at most the radius.

# %%
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from rerank import Reranker, datasets, plots, verify
from rerank.certificate import leaf_boxes, load_proof, save_proof, verify_proof
from rerank.errors import InputError
from rerank.problem.proof import COORDINATE, LEAF
from rerank.reranker.files.model_file import read

whole, names = datasets.load("haberman"), ("Age", "Positive")
X, y = whole.X[:, [whole.feature_names.index(name) for name in names]], whole.y
est = Reranker("dcg@20", radius=0.5, n_candidates=None, solver="search", proof=True).fit(X, y)
result = est.result_
print(f"{y.size} patients, {int(y.sum())} to be found, by {' and '.join(names)}")
print(f"{est.stat}: first stage {result.first_stage_statistic:.6f}, corrected {result.statistic:.6f}")
print(f"value {result.value:.9f}, bound {result.bound:.9f}, gap {result.gap:.1g}")
print(result.message)

# %% [markdown]
# ## Saved, and checked by others
#
# The proof says how the allowed weights were split into boxes. It holds no bounds of boxes: the checker computes them
# anew from the table, and compares each with the claim. It imports no search, no solver and nothing compiled. On the
# command line this is `rerank verify --proof`.

# %%
problem = est.state_.training.problem
folder = Path(tempfile.mkdtemp())
save_proof(result.proof, folder / "answer.proof")
proof = load_proof(folder / "answer.proof")
verdict = verify_proof(problem, proof)
print(f"{(folder / 'answer.proof').stat().st_size:,} bytes, {verdict.leaves} boxes: holds {verdict.ok}")
print(verdict.message)

# %% [markdown]
# ## What it says, as a picture
#
# Two corrections can be drawn; in the middle nothing is corrected. On the left is what each pair is worth, computed
# point by point. On the right are the boxes of the proof. The shade is the bound that the checker computes for the
# whole box; both sides have the same shades. A box is split if its bound is above the claim. So boxes are small where
# weights are nearly as good as the best ones, and large where nothing comes near. The ring is the best pair. Below are
# the values of the pairs along the dotted line, and the bounds of the boxes above them.

# %%
POINTS, TOP = 240, 20
boxes, radius, best = leaf_boxes(problem, proof), est.radius, proof.weights[1:]
lower, upper = boxes.lower[:, 1:], boxes.upper[:, 1:]


def worth(first, second):
    """The statistic of corrections; a relevant row must lead by the margin."""
    weights = np.column_stack([np.ones(first.size), first.ravel(), second.ravel()])
    order = np.argsort(problem.epsilon * y - weights @ problem.scaled.T, axis=1, kind="stable")[:, :TOP]
    return (y[order] / np.log2(np.arange(TOP) + 2)).sum(axis=1).reshape(first.shape)


middles = radius * (2 * (np.arange(POINTS) + 0.5) / POINTS - 1)
value = worth(*np.meshgrid(middles, middles))
panels, size = [["value", "boxes"], ["line", "line"]], dict(figsize=(9.6, 7.6), height_ratios=(3, 2))
figure, axes = plt.subplot_mosaic(panels, layout="constrained", **size)
labels = [f"correction of {name}, scaled" for name in names]
plots.weight_space(
    lower, upper, boxes.bounds, best, names=labels, unit=f"{est.stat}, or a bound on it", ax=axes["boxes"]
)
low, high = axes["boxes"].collections[0].get_clim()
ends = (-radius, radius, -radius, radius)
axes["value"].imshow(value, cmap="Greys", vmin=low, vmax=high, origin="lower", extent=ends, aspect="auto")
axes["value"].plot(*best, "o", ms=13, mfc="none", mec=plots.ORANGE, mew=2.0)
axes["value"].set(xlabel=labels[0], ylabel=labels[1], title="what each pair is worth")
axes["boxes"].set(title=f"the {len(boxes.bounds)} boxes of the proof", ylabel="")
for name in ("value", "boxes"):
    axes[name].axhline(best[1], color=plots.ORANGE, ls=":", lw=1.2)

met = np.flatnonzero((lower[:, 1] <= best[1]) & (best[1] < upper[:, 1]))
met = met[np.argsort(lower[met, 0])]
steps = np.append(lower[met, 0], radius)
axes["line"].stairs(boxes.bounds[met], steps, baseline=None, color="black", lw=1.5, label="bounds of the boxes")
along = np.unique([*np.linspace(-radius, radius, 2001), best[0]])
values = worth(along, np.full(along.size, best[1]))
axes["line"].plot(along, values, color=plots.BLUE, lw=1.2, label="what the pairs are worth")
axes["line"].axhline(proof.bound, color=plots.ORANGE, ls="--", lw=1.2, label="the claim")
axes["line"].plot(best[0], float(verdict.value), "o", ms=13, mfc="none", mec=plots.ORANGE, mew=2.0)
axes["line"].set(xlim=(-radius, radius), xlabel=labels[0], ylabel=est.stat)
axes["line"].spines[["top", "right"]].set_visible(False)
axes["line"].legend(loc="lower right", frameon=False, ncols=3)
plt.show()
print(f"largest on the grid {value.max():.6f}, largest bound of a box {boxes.bounds.max():.6f}")
above = boxes.bounds[met][np.searchsorted(steps, along, side="right").clip(1, met.size) - 1]
print(f"along the line: {np.sum(values > above + 1e-9)} of {along.size} points above the bound of their box")
near = boxes.bounds > result.statistic - 0.01
area = np.prod(upper - lower, axis=1)
print(f"bound within .01 of the best: {near.sum()} boxes, {area[near].sum() / area.sum():.1%} of the area")

# %% [markdown]
# ## One number altered
#
# A proof in which one number is wrong must not pass. Here are a lower bound, another weight, a tree with one
# split left out, and two boxes made one.

# %%
last = np.flatnonzero(proof.codes >= COORDINATE)[-1]  # neither of its halves is split
codes = proof.codes.copy()
codes[last] = LEAF
weights = proof.weights.copy()
weights[1] += 0.1
altered = {
    "a lower bound": replace(proof, bound=proof.bound - 1e-6),
    "another weight": replace(proof, weights=weights),
    "a split left out": replace(proof, codes=codes),
    "two boxes made one": replace(proof, codes=np.delete(codes, [last + 1, last + 2])),
}
for what, wrong in altered.items():
    print(f"{what}: {verify_proof(problem, wrong).message}")

# %% [markdown]
# The model file makes claims too: weights, statistic, value, digests. It is not read where its own digest does not
# fit. Whoever alters a weight and writes the digest anew is found out by the table: from it all claims follow again,
# first stage included. So is another label in the table.

# %%
est.save(folder / "answer.json")
written = json.loads((folder / "answer.json").read_text())
written["weights"][1] = written["weights"][2]
(folder / "altered.json").write_text(json.dumps(written))
try:
    read(folder / "altered.json")
except InputError as error:
    print("the file altered:", str(error).partition(": ")[2])

document = read(folder / "answer.json")
table = replace(whole, X=X, feature_names=est.state_.columns.names)
forged = replace(document, weights=document.weights[[0, 2, 1]])
other = replace(table, y=np.where(np.arange(y.size) == 0, 1 - y, y))
cases = {
    "as it was saved": (document, table),
    "two weights exchanged": (forged, table),
    "another label": (document, other),
}
for what, (model, rows) in cases.items():
    report = verify(model, rows, proof, where="answer.json")
    failed = [check.name for check in report.checks if not check.holds]
    print(f"{what}: {report.outcome} Failed: {', '.join(failed) or 'nothing'}.")
