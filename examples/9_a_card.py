# %% [markdown]
# # A card of points, proved
#
# A person adds up a few points and works the list from the top. Which questions, and how many points for each? Here
# are the machines of the table `ai4i2020`. An inspector can open one in ten.

# %%
import matplotlib.pyplot as plt
import pandas as pd

from rerank import datasets, plots
from rerank.scorecard import Scorecard

table = datasets.load("ai4i2020")
machines = pd.DataFrame(table.X, columns=table.feature_names)
print(f"{table.y.size:,} machines, {int(table.y.sum())} fail")
est = Scorecard("auc", n_questions=4, points=(1, 5), cut="top 10%").fit(machines, table.y)
print(est)

# %% [markdown]
# The first number is about these rows, and proved: no card of so few of these questions has more. The corrected value
# is what to expect of a card that is chosen in this way, on other rows.
#
# ## A rule of the operator
#
# The tenth that is opened holds fewer than three fifths of the failures. The operator asks for that many, and allows at
# most one question about the torque. The best card under these rules is another one. It is proved, too.

# %%
rules = dict(constraints=["sensitivity >= 0.6"], one_per_column=True)
ruled = Scorecard("auc", n_questions=4, points=(1, 5), cut="top 10%", **rules).fit(machines, table.y)
for name, card in (("free", est), ("with rules", ruled)):
    result, (cut,) = card.result_, [one for one in card.card_.cuts() if one.total == card.card_.cut]
    found = f"sensitivity {cut.sensitivity:.3f}, flagged {cut.flagged:.3f}"
    print(f"{name:11} AUC {result.value:.4f}, {result.status}, {found}")
print(ruled.card_)

# %% [markdown]
# ## The proof, repeated
#
# The check takes every set of questions again, with plain NumPy and whole numbers.

# %%
print(ruled.verify())

# %% [markdown]
# ## All cards that are nearly as good
#
# The pool is complete. A question that all good cards share is needed; one that occurs in a few has stand-ins.

# %%
print(ruled.pool(0.002))

# %% [markdown]
# ## A card in use
#
# Somebody has worked with this card for years. What does it lack, on these rows?

# %%
in_use = {"Rotational speed [rpm] < 1400": 3, "Torque [Nm] >= 50": 2, "Tool wear [min] >= 200": 1}
print(est.regret(in_use, machines, table.y))

# %% [markdown]
# ## What a validator asks for
#
# Both classes by total, and the ROC curve; `rerank card report` puts them on a page, with calibration, a decision curve
# and how far the rows have moved. The sheet is also written as a workbook with formulas: `card_.to_excel("card.xlsx")`.

# %%
axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")[1]
plots.totals_by_class(ruled.card_.totals, ruled.card_.cut, ax=axes[0])
plots.roc_curve(ruled.card_.totals, ruled.card_.cut, ax=axes[1])
plt.show()

# %% [markdown]
# ## As a picture

# %%
ruled.plot()
plt.show()
