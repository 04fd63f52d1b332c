# %% [markdown]
# # Inspect first
#
# Machines are made in batches. A crew can open ten machines of each batch. Which ten? A usual model is fitted
# to predict well for all machines, although nobody opens those far down its list. Here the order at the top of
# the list is fitted itself, and a proof says that no weights have a larger value, margin included. Then the fit
# is tested on later batches.
#
# The table is public. It holds simulated machines in the order in which they ran; some of them failed.

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
# ## A shortlist, and its best order
#
# Logistic regression ranks each batch, and its best thirty machines are the shortlist. The shortlist is ordered
# for the DCG of the ten places that will be opened: a failure that is found counts more the higher it stands. At
# most three features may be used. The rule is then easy to read, and proofs are fast.

# %%
options = dict(n_candidates=30, max_features=3, solver="search", proof=True)
est = Reranker(stat=f"dcg@{OPENED}", first_stage="logistic", **options)
est.fit(X[past], y[past], qid=batch[past])
result = est.result_
print(result.message)
rich.print(four_numbers(result))

# %% [markdown]
# These numbers answer different questions.
#
# - The **statistic** is the DCG of the ranking. Compare it with that of the **first stage**.
# - The **value** is what was maximised. It counts a failed machine as above another one only if their scores
#   differ by at least the margin, so that rounding cannot change the order. It is recomputed from the weights in
#   exact fractions.
# - The **bound** is what the search has proved: no weights on at most three features have a larger value, margin
#   included.
# - The **gap** is the difference of bound and value. If it is zero, no weights have a larger value.
#
# These are the weights of the rule:

# %%
names = np.array(table.feature_names)
for j in est.features_:
    across = est.coef_[j] * np.ptp(X[past, j])
    print(
        f"{est.coef_[j]:+.3g} per {names[j]:<22} {across:+.2f} from the least to the largest of these machines"
    )

# %% [markdown]
# ## Does it hold for later batches?
#
# The proof is about the batches of the fit. Many weights may have the same value there, and the best of them need
# not be the best on new batches. So what counts are the batches that came later.

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
# A single split into past and future may be lucky. So the fit is repeated: each batch is ranked by a model that was
# fitted on all batches before it.

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
# This is what may be claimed for this table, and no more. On a single short list an exact fit can over-fit;
# `rerank demo` shows such a list. Many lists and few features make over-fitting less likely.
#
# ## The ten to open
#
# The picture shows the shortlist of the newest batch in both orders. Filled marks are machines that failed.

# %%
rows = np.flatnonzero(batch == batch.max())
before = rows[np.argsort(-first[rows], kind="stable")][:30]
after = rows[np.argsort(-exact[rows], kind="stable")][:30]
units = [names[j].partition("[")[2].rstrip("]") for j in est.features_]
shown = {row: ", ".join(f"{X[row, j]:g} {unit}" for j, unit in zip(est.features_, units)) for row in after}
plots.two_lists(before.tolist(), after.tolist(), rows[y[rows] > 0].tolist(), top=OPENED, names=shown)
plt.show()

# %% [markdown]
# ## How to check the result
#
# The certificate holds the value as a fraction of integers; nothing is rounded. The model file is plain JSON. With
# the model file and the table anyone can recompute the statistic, the value and the certificate, without a solver and
# without trust in the search. For the bound the search has written down how it split the weights into boxes
# (`proof=True`), and this record is checked in exact arithmetic. On the command line these are `rerank fit --proof` and
# `rerank verify --proof`.

# %%
certificate = result.certificate
print(f"value = {certificate.value} = {float(certificate.value):.6f}")
print(f"pairs in the right order by the margin: {certificate.pairs_won:,} of {certificate.pairs:,}")
model = Path(tempfile.mkdtemp()) / "inspect_first.json"
est.save(model)
columns = est.state_.feature_names
history = replace(table, X=X[past], y=y[past], qid=batch[past].astype(str), feature_names=columns)
print_checks(verify(read(model), history, model.name, result.proof))
