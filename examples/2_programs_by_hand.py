# %% [markdown]
# # The programs by hand
#
# What does a solver get when a ranking is fitted exactly? This page states one small problem as each of the
# programs, inspects the programs, writes them to `.mps` files, solves the files with three solvers, and reads the
# solutions back into rankings with a certificate.
#
# The rows are patients after surgery, with age and number of affected nodes as features. Patients who died within
# five years should be on top. The list here is only the ten patients whom logistic regression ranks highest.
# `solver="none"` states a problem and solves nothing.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyomo.environ as pyo

from formulations.compile import compile_model
from rerank import Reranker, datasets, plots
from rerank.errors import SolverError
from rerank.solvers import Options, Progress, highs
from rerank.solvers.gateway import solve_file

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
# ## Build the programs
#
# Subrank, ResolvedRank and `mixed` maximise any rank statistic, here DCG. `auc` and `pairwise` count pairs in the
# right order. Each is a Pyomo model, which you can read, change and extend.

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
# ## Inspect one program
#
# The docstring of each module states the mathematics. For each inequality there, the model has a family of
# constraints of the same name. Below are two constraints of Subrank, as Pyomo prints them. A win `z[i,k]` needs row
# *i* to be scored above row *k* by the margin. `s[i]` counts the rows that row *i* beats.

# %%
model = models["subrank"]
for family in (model.above_by_margin, model.win_count):
    first = next(iter(family.values()))
    print(first.name, ":", first.expr, "\n")

# %% [markdown]
# The solver, the file and this picture use the same arrays. The columns are weights `w`, wins `z`, counts `s` and
# levels `t`. The rows are margins `M`, counts `S`, reached levels `R`, the order of levels `O`, distinct ranks `P`,
# and `X`, which lets at most one of two rows be above the other.

# %%
plots.structure(programs["subrank"])
plt.show()

# %% [markdown]
# ## Solve the files with three solvers
#
# `export_mps` writes the program in a form of the `.mps` format that all these solvers read in the same way. A `.json`
# file holds what the format cannot. Here are the first lines:

# %%
files = {name: Path(est.export_mps(folder / f"{name}.mps")[0]) for name, est in stated.items()}
print("\n".join(files["subrank"].read_text().splitlines()[:8]), "\n...\n")

print("program        " + "".join(f"{solver:>22}" for solver in ("HiGHS", "CBC", "SCIP")))
answers = {}
for name, path in files.items():
    line = f"{name:<13}"
    for solver in ("highs", "cbc", "scip"):
        try:
            answer = solve_file(path, solver, time_limit=20, solution=folder / f"{name}.{solver}.sol")
        except SolverError as error:
            line += "         not installed"
            print(error)
            continue
        answers[name, solver] = answer
        line += f"{answer.objective:>14.6f} in {answer.seconds:4.2f} s"
    print(line)

# %% [markdown]
# All three solvers find the same optimum. On these rows the first three programs have the same optimum too; the page
# on ties shows rows on which they differ. The last two programs maximise the number of pairs in the right order.
# The objective of each is the statistic itself.
#
# ## Read the solutions back
#
# Each of these solution files can be loaded into the estimator, which is then fitted. The weights are read from the
# file and polished, because a solver may leave a difference of scores just below the margin. Their value is recomputed
# in exact fractions, and the solver's claim has to agree with it. All values below are in the unit of the statistic.

# %%
for (name, solver), _ in answers.items():
    result = stated[name].load_solution(folder / f"{name}.{solver}.sol").result_
    print(f"{name:<13} {solver:<6} {result.statistic_name} {result.statistic:.6f}, value {result.value:.6f}")

print(stated["subrank"].result_)

# %% [markdown]
# The bound is that of the ideal list, with all who died on top: a solution file proves no bound. The search proves
# one, and it equals the value.

# %%
proved = Reranker(stat="dcg", solver="search", **everything).fit(X, y).result_
print(proved.message)
print(f"value {proved.value:.6f}, bound {proved.bound:.6f}")

# %% [markdown]
# ## Change a program
#
# A row of your own: the first column may count at most as much as the second, in the units of the table. The model
# goes back to the estimator. Its weights keep the row, the value is recomputed exactly, and the bound is that of the
# program with the row. The option `constraints` asks for the same, and the search proves it.

# %%
model = stated["mixed"].build_model()
first, second, *_ = model.weight
model.mine = pyo.Constraint(expr=model.weight[first] <= model.weight[second])
changed = stated["mixed"].fit_model(model)
print(changed.result_.message)
print(f"{first} {model.weight[first]():.4f}, {second} {model.weight[second]():.4f}, value {changed.result_.value:.6f}")

# %% [markdown]
# ## Why the form of a program matters
#
# Here are two more patients and one more feature. The three programs state the same problem in different forms, and
# their linear relaxations differ. The relaxation of the paper's literal form has a weak bound: nearly every pair can be
# won in it. HiGHS has a few seconds for each program.

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
