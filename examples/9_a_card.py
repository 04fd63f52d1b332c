# %% [markdown]
# # A card for a clinic, proved
#
# Who should be seen sooner? A person adds up a few points, and the total says. Which questions, and how many points
# for each? Here are the patients of the table `haberman` after surgery for breast cancer: their age, the year, and
# how many lymph nodes were affected (`Positive`). Relevant are those who died within five years. The clinic can see
# two in five of its patients sooner.

# %%
import matplotlib.pyplot as plt
import pandas as pd

from rerank import datasets, plots
from rerank.scorecard import Scorecard

table = datasets.load("haberman")
patients = pd.DataFrame(table.X, columns=table.feature_names)
print(f"{table.y.size:,} patients, {int(table.y.sum())} died")
options = dict(n_questions=3, points=3, cut="top 40%")
est = Scorecard("auc", validation="bootstrap", **options).fit(patients, table.y)
print(est)

# %% [markdown]
# The first number is about these patients, and proved: no card of so few of these questions has more. The corrected
# value is what to expect of a card that is chosen in this way, on patients to come: of so few rows the best card is
# flattered. `validation="bootstrap"` gives the risks intervals that count the choice, too.
#
# ## Rules of the clinic
#
# Nobody is to be seen sooner for their age, the year does not come again, and more affected nodes may never lower the
# total. Of those who die, six in ten have to be among those who are seen sooner; the card above finds a third of
# them. The best card under these rules is another one. It is proved, too.

# %%
rules = dict(never=["Age", "Year"], one_per_column="monotone", signs={"Positive": 1})
ruled = Scorecard("auc", **options, **rules, constraints=["sensitivity >= 0.6"]).fit(patients, table.y)
for name, card in (("free", est), ("with rules", ruled)):
    result, (cut,) = card.result_, [one for one in card.card_.cuts() if one.total == card.card_.cut]
    found = f"sensitivity {cut.sensitivity:.3f}, flagged {cut.flagged:.3f}"
    print(f"{name:11} AUC {result.value:.4f}, {result.status}, {found}")
print(ruled.card_)

# %% [markdown]
# ## As a picture
#
# Risk and number of patients by total; whoever reaches the line is seen sooner.

# %%
ruled.plot()
plt.show()

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
print(est.pool(0.005))

# %% [markdown]
# ## A card in use
#
# Somebody has worked with this card for years. What does it lack, on these patients?

# %%
print(est.regret({"Age >= 60": 1, "Positive >= 3": 2}, patients, table.y))

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
