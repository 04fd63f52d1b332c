# %% [markdown]
# # Why proxies fail
#
# Rank statistics are hard to maximise, so tools minimise a smooth, convex loss in their place: the
# exponential loss of RankBoost, the hinge loss of ranking SVMs, the logistic loss. They differ in detail, one
# is told, and all push relevant rows up. This page draws the data set by which Rudin and Wang (2018, Theorem
# 2.1) show how far that may be from what one wants.
#
# One feature, four clumps of rows.

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
# With one feature there are two orders, and each is the other upside down. **Solution 1** puts the large
# values on top: first a handful of bad rows, then all of the big relevant clump. **Solution 2** puts the
# small relevant clump on top and the big one at the very end, below everything else but that handful.
#
# ## Which of the two is better?
#
# That depends on what one does with the list, and no two of these measures need agree.

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
# Above the rule more is better, below it less. The exponential loss is dominated by the few rows that it gets
# very wrong, and takes the side opposite to the AUC, which it is meant to stand for. The hinge and the
# logistic loss take the side opposite to the DCG of a short top. None of them can be right for all of these
# statistics, since the statistics do not agree.
#
# ## Does it help to let a loss choose its own scale?
#
# An order stays the same when all scores are doubled; a loss does not. So let each loss have its favourite
# weight. A copy with a tenth of the rows, and of the cut-offs, is enough for this.

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
        right.plot(
            [0, 1.5 * side], [height] * 2, ls=dash, color=colour, lw=2.5, label=stat if side > 0 else None
        )
right.set(ylim=(0, 1.1), xlabel="weight of the feature", title="statistics, share of the better value")
for ax in (left, right):
    ax.axvline(0, color="black", lw=0.8)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %% [markdown]
# Each curve is convex, so it has one valley, and all of these lie on one side; given its own scale, even the
# exponential loss comes over. That is the trouble in one picture: a loss gives one answer, whatever statistic
# one had in mind, while the statistics are on both sides.
#
# ## Fit what is meant
#
# There is nothing to soften here. The statistic itself is maximised, for each of them, with a proof.

# %%
for stat in ("auc", "pauc@10", "dcg", "mrr", "dcg@10", "pauc@1"):
    est = Reranker(stat, first_stage=None, n_candidates=None, solver="search").fit(x[:, None], y)
    side = 1 if est.coef_[0] > 0 else 2
    better = 1 if evaluate(stat, y, x) > evaluate(stat, y, -x) else 2
    print(f"{stat:<8} Solution {side}, {est.result_.status}; the better one is Solution {better}")

# %% [markdown]
# With a first stage even more can be had. Logistic regression, a proxy like the others, brings the big
# relevant clump up with the bad rows on its very top. Turning that shortlist around puts the bad rows at its
# end and leaves everything else where it was, which no single line can do.

# %%
est = Reranker("dcg@10", first_stage="logistic", n_candidates=100, solver="search").fit(x[:, None], y)
result = est.result_
print(f"{est.stat}: Solution 1 {evaluate(est.stat, y, x):.3f}, Solution 2 {evaluate(est.stat, y, -x):.3f}")
print(f"first stage {result.first_stage_statistic:.3f}, its shortlist in exact order {result.statistic:.3f}")
print(result.message)
