# %% [markdown]
# # Ties, and when the smaller program is enough
#
# The score does not order two rows that are tied. A program has to define how they are ranked. Two programs do this
# differently:
#
# - **ResolvedRank** puts tied rows that are not relevant above the relevant ones, and gives each row its own rank.
# - **Subrank** gives all tied rows the lowest of their ranks. It is the much smaller program.
#
# Breaking ties never lowers the sum of coefficients, so one expects both programs to have the same optimum. A published
# theorem says that they do when no two rows are equal. Four points show that the theorem needs more than that.

# %%
import matplotlib.pyplot as plt
import numpy as np

from formulations import mixed, resolved_rank, subrank
from formulations.compile import compile_model
from rerank import plots
from rerank.errors import InputError
from rerank.perturb import duplicates, perturb_rows, perturb_weights, theorem_applies
from rerank.ranks import evaluate, resolved_ranks, subranks
from rerank.solvers import highs
from rerank.statistics import AUC

X = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
y = np.array([1, 1, 0, 0])
a = AUC().coefficients(len(y))
print("a rank pays, lowest first:", a.tolist())

# %% [markdown]
# ## One feature, and two ties
#
# The first feature separates the relevant rows (filled) from the others. Within each class the rows are tied. A thick
# line joins rows with the same score. A small weight on the second feature breaks all ties and keeps every strict
# order. This raises the sum of coefficients under Subrank, and leaves it unchanged under ResolvedRank.


# %%
def paid(ranks):
    return sum(a[ranks[y == 1]])


figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.3), layout="constrained")
for ax, w in zip(axes, (np.array([1.0, 0.0]), np.array([1.0, 0.25]))):
    shared, own = subranks(X @ w), resolved_ranks(X @ w, y)
    title = f"weights {w[0]:g}, {w[1]:g}\nSubrank pays {paid(shared):g}, ResolvedRank {paid(own):g}"
    plots.plane(X, y == 1, w, [f"{s + 1} | {r + 1}" for s, r in zip(shared, own)], title=title, ax=ax)
figure.supxlabel("beside each row: its rank by Subrank | by ResolvedRank, the lowest being 1", fontsize=9)
plt.show()

# %% [markdown]
# ## With a penalty or a limit on features
#
# With a penalty for each feature, breaking the ties is no longer free. The picture shows the optima of both programs
# for growing penalties. The number at each mark is the number of features in the solution.


# %%
def optimum(module, **options):
    program = compile_model(module.build(X, y, a, **options))
    outcome = highs.solve(program)
    return outcome.objective, np.count_nonzero(np.abs(outcome.x[program.weights]) > 1e-6)


prices = np.arange(0.0, 5.0, 0.5)
figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for module, mark, dash, colour, above in (
    (resolved_rank, "o", "-", plots.BLUE, True),
    (subrank, "s", "--", plots.ORANGE, False),
):
    values, used = zip(*(optimum(module, C=price) for price in prices))
    ax.plot(prices, values, marker=mark, ls=dash, color=colour, label=module.__name__.rpartition(".")[2])
    for price, value, count in zip(prices, values, used):
        ax.annotate(str(count), (price, value), (0, 7 if above else -15), textcoords="offset points", ha="center")
ax.set(xlabel="penalty C of a feature", ylabel="optimum", ylim=(1, 8))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

for options in (dict(), dict(C=0.1), dict(max_features=1)):
    names = {"ResolvedRank": resolved_rank, "Subrank": subrank, "mixed": mixed}
    optima = ", ".join(f"{name} {optimum(module, **options)[0]:g}" for name, module in names.items())
    print(options or "no penalty, no limit", ":", optima)
    print("   ", theorem_applies(X, **options), "\n")

# %% [markdown]
# Without a penalty or a limit both optima agree, as the theorem says. With either, Subrank's optimum is smaller,
# although no two rows are equal. What matters is whether rows are equal *on the features that are used*, here on the
# first feature. If the penalty is so high that no feature is used, all rows are tied, and the optima differ too.
# `theorem_applies` examines the data and says which case holds. `mixed`, our own program, compares relevant rows only
# with the others. Its optimum equals that of ResolvedRank in all these cases.
#
# ## Breaking ties
#
# If rows differ on the features that are used, a small change of the weights breaks every tie and keeps every strict
# order. `perturb_weights` finds such weights and checks them. Here are nine rows on a grid, scored
# by the sum of their features:

# %%
grid = np.array([[i, j] for i in range(3) for j in range(3)], dtype=float)
relevant = np.array([0, 0, 1, 0, 1, 0, 0, 1, 1])
w = np.array([1.0, 1.0])
moved = perturb_weights(w, grid, random_state=1)
figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.3), layout="constrained")
for ax, weights in zip(axes, (w, moved)):
    scores = grid @ weights
    low, high = evaluate("auc", relevant, scores, ties="interval")
    auc = f"{low:.3g}" if low == high else f"between {low:.3g} and {high:.3g}"
    title = f"weights {weights[0]:.3f}, {weights[1]:.3f}\nAUC {auc}"
    texts = [str(rank + 1) for rank in resolved_ranks(scores, relevant)]
    plots.plane(grid, relevant == 1, weights, texts, title=title, ax=ax)
figure.supxlabel("beside each row: its rank by ResolvedRank", fontsize=9)
plt.show()

# %% [markdown]
# On the left the AUC depends on how the ties are broken. On the right it is one number, never below the lower end on
# the left.
#
# ## Equal rows
#
# No weights separate rows that are equal in every feature. Such rows are best merged or reported. `perturb_rows` moves
# them apart, by at least the margin of the programs in each column. With a smaller step, a single feature could not
# separate the moved rows by the margin, and ResolvedRank would exclude weights that it allows now. So a smaller step is
# refused.

# %%
twins = np.vstack([X, X[:1]])
print("equal rows:", [group.tolist() for group in duplicates(twins)])
try:
    perturb_rows(twins, size=1e-6, epsilon=1e-4)
except InputError as error:
    print("a small step:", error)
spread = perturb_rows(twins, epsilon=1e-4, random_state=0)
print(f"a step that is enough: {np.abs(spread - twins).max():.3g} at most; equal rows left: {len(duplicates(spread))}")
