# %% [markdown]
# # Inspect first
#
# Machines leave the line in batches, and of each batch a crew can open ten. Which ten? A model scores all of
# them, but it was fitted to be right about every machine, and nobody will look at the ones far down the list.
# Here the order at the top is fitted itself, with a proof that no better one exists, and then it is put to
# the test on batches that came later.
#
# The table is public: simulated machines, in the order in which they ran, some of which failed.

# %%
import tempfile
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import rich

from rerank import Reranker, datasets, plots
from rerank.cli.report import four_numbers, print_checks
from rerank.ranks import evaluate
from rerank.reranker.files.model_file import read
from rerank.reranker.files.verify import verify

BATCH, OPENED = 500, 10
table, about = datasets.load("ai4i2020"), datasets.describe("ai4i2020")
X, y, batch = table.X, table.y, np.arange(len(table)) // BATCH
past = batch < 13
print(f"{len(table):,} {about.task}: {int(y.sum())} of them.")
learned, all_of_them = np.unique(batch[past]).size, np.unique(batch).size
print(f"Batches of {BATCH}: {learned} to learn from, {all_of_them - learned} that come later.")
print(f"Source: {about.citation} doi {about.doi}, {about.licence}.")

# %% [markdown]
# ## A shortlist, and the best order of it
#
# Logistic regression ranks each batch and keeps its best thirty. Within these, the DCG of the ten places that
# will be opened decides: a failure found counts more the higher it stands. At most three features may be
# used, so that the rule can be read aloud, and because proofs are quick then.

# %%
est = Reranker(stat=f"dcg@{OPENED}", first_stage="logistic", n_candidates=30, max_features=3, solver="search")
est.fit(X[past], y[past], qid=batch[past])
result = est.result_
print(result.message)
rich.print(four_numbers(result))

# %% [markdown]
# These numbers are kept apart because they answer different questions. The **statistic** is what one would
# quote, to be held against that of the **first stage**. The **value** is what was maximised: it counts a
# failed machine as above another one only if their scores differ by a margin, so that no rounding can turn
# the order. It is recomputed in exact fractions from the weights. The **bound** is what the search has
# proved: no three features, with whatever weights, have a larger value. Where the **gap** between the two is
# nothing, there is no better order of these shortlists to look for.
#
# The rule itself fits on a line.

# %%
names = np.array(table.feature_names)
for j in est.features_:
    across = est.coef_[j] * np.ptp(X[past, j])
    print(
        f"{est.coef_[j]:+.3g} per {names[j]:<22} {across:+.2f} from the least to the largest of these machines"
    )

# %% [markdown]
# ## Does it hold for batches that nobody has seen?
#
# The proof speaks of the past. Thousands of weights may tie there, and the best of them need not be the best
# tomorrow, so the batches after the last one learned from are what counts.

# %%
first, exact = est.first_stage_.decision_function(X), est.list_scores(X, qid=batch)
later = np.unique(batch[~past])
value = {
    name: np.array([evaluate(est.stat, y[batch == b], scores[batch == b]) for b in later])
    for name, scores in (("first stage", first), ("exact order", exact))
}
found = {
    name: round(evaluate(f"precision@{OPENED}", y[~past], scores[~past], batch[~past]) * later.size)
    for name, scores in (("first stage", first), ("exact order", exact))
}
for name in value:
    print(
        f"{name}: {est.stat} {value[name].mean():.3f}, {found[name]} failures in {OPENED * later.size} opened"
    )
plots.before_after(*value.values(), [f"batch {b + 1}" for b in later], unit=f"{est.stat}, held out")
plt.show()

# %% [markdown]
# One cut between past and future may be lucky. So the same fit is made again and again as the line would have
# made it: each batch is ranked by what was fitted on all batches before it.

# %%
gains = []
for now in range(8, batch.max() + 1):
    before, here = batch < now, batch == now
    again = Reranker(**est.get_params()).fit(X[before], y[before], qid=batch[before])
    base = evaluate(est.stat, y[here], again.first_stage_.decision_function(X[here]))
    gains.append(again.score(X[here], y[here]) - base)
gains = np.array(gains)
print(
    f"{gains.size} batches: better on {(gains > 0).sum()}, worse on {(gains < 0).sum()}, {gains.mean():+.3f} in "
    f"{est.stat} on average, give or take {gains.std(ddof=1) / gains.size**0.5:.3f}."
)

# %% [markdown]
# That is what may be claimed for this line, and no more. It is not always so: on a single short list an exact
# fit can learn the accidents of that list, and `rerank demo` shows one where it does. Many lists and few
# features are what protects here.
#
# ## The ten to open
#
# The shortlist of the newest batch, ordered by either. Filled marks turned out to have failed.

# %%
rows = np.flatnonzero(batch == batch.max())
before = rows[np.argsort(-first[rows], kind="stable")][:30]
after = rows[np.argsort(-exact[rows], kind="stable")][:30]
units = [names[j].partition("[")[2].rstrip("]") for j in est.features_]
shown = {row: ", ".join(f"{X[row, j]:g} {unit}" for j, unit in zip(est.features_, units)) for row in after}
plots.two_lists(before.tolist(), after.tolist(), rows[y[rows] > 0].tolist(), top=OPENED, names=shown)
plt.show()

# %% [markdown]
# ## If somebody asks
#
# The certificate holds the value as a fraction of whole numbers, with nothing rounded on the way. The model
# file is plain JSON, and whoever has it and the table can repeat every number, without a solver and without
# trust in the search. The bound alone takes more: `rerank fit --proof` writes down how the search settled it,
# and `rerank verify --proof` checks that record in exact arithmetic.

# %%
certificate = result.certificate
print(f"value = {certificate.value} = {float(certificate.value):.6f}")
print(f"pairs in the right order by the margin: {certificate.pairs_won:,} of {certificate.pairs:,}")
model = Path(tempfile.mkdtemp()) / "inspect_first.json"
est.save(model)
history = replace(table, X=X[past], y=y[past], qid=batch[past].astype(str))
print_checks(verify(read(model), history, model.name))
