# %% [markdown]
# # Why proxies fail
#
# Rank statistics are hard to maximise, so most tools minimise a convex loss instead: the exponential loss of
# RankBoost, the hinge loss of ranking SVMs, the logistic loss. All of them move relevant rows up. Rudin and Wang
# (2018, Theorem 2.1) give a data set on which the optimum of a loss is far from that of a statistic. This page
# draws it.
#
# It has one feature and four clusters of rows.

# %%
import matplotlib.pyplot as plt
import numpy as np

from rerank import Reranker, plots
from rerank.ranks import evaluate

CLUMPS = [(3, 10, 0), (1, 3000, 1), (0, 3000, 0), (-10, 80, 1)]  # centre, rows, relevant


def clumps(share, seed=0):
    rng = np.random.default_rng(seed)
    sizes = [rows // share for _, rows, _ in CLUMPS]
    x = np.concatenate([rng.normal(centre, 0.05, size) for (centre, *_), size in zip(CLUMPS, sizes)])
    return x, np.repeat([relevant for *_, relevant in CLUMPS], sizes)


x, y = clumps(1)
figure, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
jitter = np.random.default_rng(1).uniform(-0.25, 0.25, x.size)
for kind, mark, colour in ((1, "o", plots.BLUE), (0, "x", plots.ORANGE)):
    ax.plot(x[y == kind], y[y == kind] + jitter[y == kind], mark, color=colour, ms=3, alpha=0.3)
for centre, rows, relevant in CLUMPS:
    ax.text(centre, relevant + 0.32, f"{rows:,}", ha="center")
for tip, tail, name in ((-9.2, -5.8, "Solution 2: small on top"), (-1.4, -4.8, "Solution 1: large on top")):
    ax.annotate("", (tip, 0.12), (tail, 0.12), arrowprops=dict(arrowstyle="-|>", lw=1.5))
    ax.text((tip + tail) / 2, 0.02, name, ha="center", va="top", fontsize=8)
ax.set(ylim=(-0.4, 1.6), xlabel="the feature")
ax.set_yticks([0, 1], ["not relevant", "relevant"])
ax.tick_params(axis="y", length=0)
ax.spines[["top", "left", "right"]].set_visible(False)
plt.show()

# %% [markdown]
# With one feature there are two orders, and each is the reverse of the other. **Solution 1** puts the large values on
# top: first a few irrelevant rows, then the whole large relevant cluster. **Solution 2** puts the small relevant
# cluster on top. The large relevant cluster comes near the end, and only the few irrelevant rows are below it.
#
# ## Which of the two is better?
#
# That depends on the measure, and measures disagree.

# %%
statistics = ["auc", "pauc@100", "dcg", "mrr", "dcg@100", "pauc@10"]
losses = {
    "hinge": lambda difference: np.maximum(0.0, 1.0 - difference),
    "logistic": lambda difference: np.logaddexp(0.0, -difference),
    "exponential": lambda difference: np.exp(-difference),
}
differences = x[y == 1][:, None] - x[y == 0][None, :]
rows = [(stat, evaluate(stat, y, x), evaluate(stat, y, -x), True) for stat in statistics]
for name, loss in losses.items():
    rows.append((f"{name} loss", loss(differences).mean(), loss(-differences).mean(), False))

print("measure               Solution 1   Solution 2   prefers")
for name, one, two, larger in rows:
    print(f"{name:<18} {one:>13,.4g} {two:>12,.4g}   Solution {1 if (one > two) == larger else 2}")
plots.preferences(rows, ("Solution 1", "Solution 2"))
plt.show()

# %% [markdown]
# Above the line larger is better, below it smaller. The exponential loss is dominated by the few rows with a very wrong
# score. It prefers Solution 2, although it is meant to replace the AUC, which prefers Solution 1. The hinge loss and
# the logistic loss prefer Solution 1, and the DCG of the first places prefers Solution 2. No loss can agree with all of
# these statistics, since the statistics disagree with each other.
#
# ## Does it help to choose the scale for each loss?
#
# When all scores are doubled, the order stays the same, and a loss changes. So let each loss have its best weight. A
# copy with a tenth of the rows, and of the cut-offs, is enough for this.

# %%
x, y = clumps(10)
differences = np.subtract.outer(x[y == 1], x[y == 0]).ravel()
weights = np.linspace(-1.5, 1.5, 121)
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained", sharex=True)
styles = (("-", "o", plots.BLUE), ("--", "s", plots.ORANGE), (":", "^", plots.GREEN))
for (name, loss), (dash, mark, colour) in zip(losses.items(), styles):
    curve = np.array([loss(weight * differences).mean() for weight in weights]) / loss(np.zeros(1))
    best = curve.argmin()
    left.plot(weights, curve, ls=dash, color=colour, marker=mark, markevery=[best], ms=8, label=name)
    side = 1 if weights[best] > 0 else 2
    print(f"{name} loss is least at weight {weights[best]:+.3f}, the side of Solution {side}")
left.set(ylim=(0, 4), xlabel="weight of the feature", ylabel="share of the loss at weight 0")
left.set_title("losses, less is better")
sides = (("auc", "-", plots.BLUE), ("dcg@10", "--", plots.ORANGE))
for stat, dash, colour in sides:
    best = max(evaluate(stat, y, x), evaluate(stat, y, -x))
    for side in (-1, 1):
        height = evaluate(stat, y, side * x) / best
        right.plot([0, 1.5 * side], [height] * 2, ls=dash, color=colour, lw=2.5, label=stat if side > 0 else None)
right.set(ylim=(0, 1.1), xlabel="weight of the feature", title="statistics, share of the better value")
for ax in (left, right):
    ax.axvline(0, color="black", lw=0.8)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %% [markdown]
# Each curve is convex, so it has one minimum. All minima are on the same side; with its best scale the exponential loss
# prefers that side too. So a loss gives the same solution whatever the statistic, but the statistics prefer different
# solutions.
#
# ## Fit the statistic itself
#
# Each statistic is maximised itself, with a proof.

# %%
for stat in ("auc", "pauc@10", "dcg", "mrr", "dcg@10", "pauc@1"):
    est = Reranker(stat, first_stage=None, n_candidates=None, solver="search").fit(x[:, None], y)
    side = 1 if est.coef_[0] > 0 else 2
    better = 1 if evaluate(stat, y, x) > evaluate(stat, y, -x) else 2
    print(f"{stat:<8} Solution {side}, {est.result_.status}; the better one is Solution {better}")

# %% [markdown]
# A first stage allows more orders. Logistic regression puts the large relevant cluster near the top, with the few
# irrelevant rows above it. The exact fit reverses this shortlist: the irrelevant rows come to its end, and all other
# rows stay where they were. No single weight on the feature gives this order.

# %%
est = Reranker("dcg@10", first_stage="logistic", n_candidates=100, solver="search").fit(x[:, None], y)
result = est.result_
print(f"{est.stat}: Solution 1 {evaluate(est.stat, y, x):.3f}, Solution 2 {evaluate(est.stat, y, -x):.3f}")
print(f"first stage {result.first_stage_statistic:.3f}, its shortlist in exact order {result.statistic:.3f}")
print(result.message)
