# %% [markdown]
# # Ties, and when the smaller program is enough
#
# Two rows with the same score have no order of their own. Whoever acts on the list must decide what that is
# worth, and two programs decide differently:
#
# - **ResolvedRank** puts the rows that are not relevant above the relevant ones, and gives every row a rank
#   of its own;
# - **Subrank** lets tied rows share the lowest of their ranks. It is the much smaller program.
#
# Breaking ties can only help, so the two should agree at the optimum, and a published theorem says that they
# do when no two rows are equal. Four points show what it leaves out.

# %%
import matplotlib.pyplot as plt
import numpy as np
from rerank.perturb import duplicates, perturb_rows, perturb_weights, theorem_applies

from formulations import mixed, resolved_rank, subrank
from formulations.compile import compile_model
from rerank import plots
from rerank.errors import InputError
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
# The first feature separates the relevant rows (filled) from the others, and ties the rows within each kind.
# A thick line joins rows of one score. A little of the second feature breaks all ties and changes no order;
# it pays a rank more under Subrank and nothing under ResolvedRank.


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
# ## With a price, or a limit, on features
#
# If that second feature costs something, breaking the ties is no longer free. Here are the optima of both
# programs, solved as they are, for growing prices. The number at each mark says how many features its
# solution uses.


# %%
def optimum(module, **options):
    program = compile_model(module.build(X, y, a, **options))
    outcome = highs.solve(program)
    return outcome.objective, np.count_nonzero(np.abs(outcome.x[program.weights]) > 1e-6)


prices = np.arange(0.0, 5.0, 0.5)
figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for module, mark, dash, colour, above in (
    (resolved_rank, "o", "-", plots.BLUE, True), (subrank, "s", "--", plots.ORANGE, False)
):  # fmt: skip
    values, used = zip(*(optimum(module, C=price) for price in prices))
    ax.plot(prices, values, marker=mark, ls=dash, color=colour, label=module.__name__.rpartition(".")[2])
    for price, value, count in zip(prices, values, used):
        ax.annotate(
            str(count), (price, value), (0, 7 if above else -15), textcoords="offset points", ha="center"
        )
ax.set(xlabel="price C of a feature", ylabel="optimum", ylim=(1, 8))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

for options in (dict(), dict(C=0.1), dict(max_features=1)):
    names = {"ResolvedRank": resolved_rank, "Subrank": subrank, "mixed": mixed}
    told = ", ".join(f"{name} {optimum(module, **options)[0]:g}" for name, module in names.items())
    print(options or "no price, no limit", ":", told)
    print("   ", theorem_applies(X, **options), "\n")

# %% [markdown]
# Without price or limit the two agree, as the theorem says. With either, Subrank's optimum is below, although
# no two of the rows are equal: what matters is whether rows coincide *on the features that are used*, here on
# the first one. Where the price is so high that no feature is bought, everything is tied, and they differ
# still. `theorem_applies` looks at the data and says which case it is. `mixed`, our own program, asks only
# how relevant rows stand to the others, and follows ResolvedRank in all of them.
#
# ## Breaking ties on purpose
#
# Where rows do differ on the features used, a small step of the weights breaks every tie and keeps every
# order, and `perturb_weights` finds one and checks it in exact arithmetic. Nine rows on a grid, scored by the
# sum of their features:

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
# On the left the AUC depends on who is unlucky in the ties; on the right it is one number, never below the
# lower end on the left.
#
# ## Equal rows
#
# Against rows that are equal in everything no weights help. They are best merged or reported. Whoever wants
# them apart moves them, and far enough: by less than the margin that the programs ask for, moved rows could
# never be told apart, and ResolvedRank would lose weights that it may use now. So a smaller step is refused.

# %%
twins = np.vstack([X, X[:1]])
print("equal rows:", [group.tolist() for group in duplicates(twins)])
try:
    perturb_rows(twins, size=1e-6, epsilon=1e-4)
except InputError as error:
    print("a small step:", error)
spread = perturb_rows(twins, epsilon=1e-4, random_state=0)
print(
    f"a step that is enough: {np.abs(spread - twins).max():.3g} at most; equal rows left: {len(duplicates(spread))}"
)
