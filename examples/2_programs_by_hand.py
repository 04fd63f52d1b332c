# %% [markdown]
# # The programs by hand
#
# What is handed to a solver when a ranking is fitted exactly? This page states one small problem as each of
# the programs, looks at what was stated, writes it to a file that any solver reads, asks three solvers, and
# takes one of the answers back into a ranking with a certificate.
#
# The list: patients after surgery, by age and number of affected nodes; those who died within five years are
# to be on top. Logistic regression picks ten of them, and they are all there is here. `solver="none"` states
# a problem and solves nothing.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import rich

from formulations.compile import compile_model
from rerank import Reranker, datasets, plots
from rerank.cli.report import four_numbers
from rerank.errors import SolverError
from rerank.solvers import highs
from rerank.solvers.gateway import solve_file
from rerank.solvers.outcome import Options, Progress

folder = Path(tempfile.mkdtemp())
table = datasets.load("haberman")
stage = Reranker(stat="dcg", solver="none").fit(table.X, table.y).first_stage_
best_first = np.argsort(-stage.decision_function(table.X), kind="stable")
ten = best_first[:10]
columns = [table.feature_names.index(name) for name in ("Age", "Positive")]
X, y = table.X[np.ix_(ten, columns)], table.y[ten]
everything = dict(first_stage=None, n_candidates=None)


def problem(stat, formulation, X=X, y=y):
    return Reranker(stat=stat, formulation=formulation, solver="none", **everything).fit(X, y)


print(f"{y.size} patients, {int(y.sum())} of whom died; columns: age, nodes\n", X.astype(int).tolist())


# %% [markdown]
# ## Build them
#
# Subrank, ResolvedRank and `mixed` maximise any rank statistic, here DCG. `auc` and `pairwise` count pairs in
# the right order. Each is a Pyomo model that can be read, changed and extended.

# %%
stated = {
    "subrank": problem("dcg", "subrank"),
    "resolved_rank": problem("dcg", "resolved_rank"),
    "mixed": problem("dcg", "mixed"),
    "auc": problem("auc", "auc"),
    "pairwise": problem("auc", "pairwise"),
}
models = {name: est.build_model() for name, est in stated.items()}
programs = {name: compile_model(model) for name, model in models.items()}
print("program        rows  columns  integer  entries")
for name, program in programs.items():
    rows, width = program.matrix.shape
    print(f"{name:<13} {rows:>5} {width:>8} {program.integer.sum():>8} {program.matrix.nnz:>8}")

# %% [markdown]
# ## Look at one
#
# The module's docstring states the mathematics; the model holds one family of constraints for each inequality
# there, under the same name. Two of Subrank's, as Pyomo prints them: a win `z[i,k]` needs row *i* to be
# scored above row *k* by the margin, and what row *i* beats is counted in `s[i]`.

# %%
model = models["subrank"]
for family in (model.above_by_margin, model.win_count):
    first = next(iter(family.values()))
    print(first.name, ":", first.expr, "\n")

# %% [markdown]
# The same arrays go to a solver, to the file and into this picture. Columns: weights `w`, wins `z`, counts
# `s`, levels `t`. Rows: margins `M`, counts `S`, reached levels `R`, their order `O`, distinct ranks `P`, and
# `X`, which lets only one of two rows be above the other.

# %%
plots.structure(programs["subrank"])
plt.show()

# %% [markdown]
# ## Ask three solvers, through the file
#
# `export_mps` writes the program in the one dialect that all readers agree on, and beside it a `.json` with
# what the format cannot hold. The first lines:

# %%
files = {name: Path(est.export_mps(folder / f"{name}.mps")[0]) for name, est in stated.items()}
print("\n".join(files["subrank"].read_text().splitlines()[:8]), "\n...\n")

print("program        " + "".join(f"{solver:>22}" for solver in ("HiGHS", "CBC", "SCIP")))
answers = {}
for name, path in files.items():
    line = f"{name:<13}"
    for solver in ("highs", "cbc", "scip"):
        try:
            answer = solve_file(path, solver, time_limit=5, solution=folder / f"{name}.{solver}.sol")
        except SolverError as error:
            line += "         not installed"
            print(error)
            continue
        answers[name, solver] = answer
        line += f"{answer.objective:>14.6f} in {answer.seconds:4.2f} s"
    print(line)

# %% [markdown]
# Whatever solver one has, the optimum is the same, and it is the same for the first three programs, although
# they say it in different words. (Where they part is the subject of the page on ties.) The last two maximise
# pairs; their objectives differ by a constant that no order changes.
#
# ## Take the answers back
#
# Any of these solution files makes the estimator a fitted one. The weights are taken from it, pushed off the
# edge of the margin where a solver leaves them, and judged again in exact fractions; the solver's claim has
# to survive that. Now all are in the unit of the statistic.

# %%
for (name, solver), _ in answers.items():
    result = stated[name].load_solution(folder / f"{name}.{solver}.sol").result_
    print(f"{name:<13} {solver:<6} {result.statistic_name} {result.statistic:.6f}, value {result.value:.6f}")

rich.print(four_numbers(stated["subrank"].result_))

# %% [markdown]
# The bound is that of the ideal list, with all who died on top: a file of a solution proves nothing. The
# search does, and its bound meets the value.

# %%
proved = Reranker(stat="dcg", solver="search", **everything).fit(X, y).result_
print(proved.message)
print(f"value {proved.value:.6f}, bound {proved.bound:.6f}")

# %% [markdown]
# ## Why the statement matters
#
# Two more patients, one more feature. All of these ask for the same order, but their relaxations differ: the
# literal form of the paper lets a solver believe for long that everything can be won. HiGHS has a few seconds
# for each.

# %%
more = best_first[:12]
statements = {
    "Subrank, literal": ("subrank", dict(linking="paper", cuts=False, big_m="unit")),
    "Subrank": ("subrank", {}),
    "mixed": ("mixed", {}),
}
traces = {}
for name, (formulation, choices) in statements.items():
    model = problem("dcg", formulation, table.X[more], table.y[more]).build_model(**choices)
    traces[name] = []
    outcome = highs.solve(compile_model(model), Options(time_limit=2, progress=traces[name].append))
    traces[name].append(Progress(outcome.seconds, outcome.objective, outcome.bound, outcome.nodes))
    found = f"found {outcome.objective:.4f}, bound {outcome.bound:.4f}"
    print(f"{name:<17} {found}, {outcome.nodes:,} nodes in {outcome.seconds:.1f} s")
best = Reranker(stat="dcg", solver="search", **everything).fit(table.X[more], table.y[more]).result_
found = f"found {best.value:.4f}, bound {best.bound:.4f}"
print(f"{'search':<17} {found}, {best.nodes:,} boxes in {best.seconds['search']:.3f} s")
plots.bound_over_time(traces, best=best.value, unit="DCG of the shortlist")
plt.show()
