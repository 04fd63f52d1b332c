"""Texts that look like advice and that no row follows."""

# ruff: noqa: E501 - messages stand here as they are written

# Each with the reason why it is not followed.
REASONS = {
    ", and pip install pulp": "needs a solver that this machine lacks, and no PuLP",
    "'weights' lie in [-1, 1], or correct a score of weight 1": "no advice",
    "A bound of {} was claimed, but these weights are worth {}, which is more; the proof is wrong, do not use it.": "says that nothing helps",
    "A list has a negative gain, weight or scale, or coefficients that fall: it has no bound.": "no advice",
    "Lower bound:\\s+(\\S+)": "no advice",
    "NAME {} FREE": "no advice",
    "Ray did not start {} workers of {} cores within {} seconds; see in `ray status` what uses the cores, free some, or choose a smaller n_shards.": "needs a cluster",
    "The files contradict each other: another table than that of the fit, or a changed file; do not use this model with them.": "says that nothing helps",
    "a list has a negative gain, weight or scale, or coefficients that fall": "no advice",
    "check the memory of the machines": "needs a cluster that loses its workers",
    "check the memory of the machines and call fit again, which goes on from {}": "needs a cluster that loses its workers",
    "check the memory of the machines, and set checkpoint to a folder, so that no epoch is run twice": "needs a cluster that loses its workers",
    "fit(checkpoint=...) wrote": "no advice",
    "free weights": "no advice",
    "install {} so that PuLP finds {}{}": "needs a solver that this machine lacks",
    "Compiled code cannot be kept ({}), so each process compiles for itself, for up to a minute; set NUMBA_CACHE_DIR to a folder that can be written.": "needs a process that can write no folder; tests/search/test_compile.py has one",
    "The columns of X are too large, too small or too far apart in size to be fitted ({}); scale them, or leave out the extreme ones.": "a guard; tests/reranker/test_extremes.py draws such columns",
    "The first stage {} cannot be fitted to these rows ({}); scale columns of very large or small numbers, or choose another first_stage.": "a guard; tests/reranker/test_extremes.py draws such columns",
    "lower left": "no advice",
    "lower right": "no advice",
    "pip install gurobipy (its licence covers small programs), or install Gurobi with gurobi_cl on the path": "needs a licence of Gurobi",
    "run in prior": "no advice",
    "run {}": "no advice",
    "save() wrote": "no advice",
    "scale is positive": "no advice",
    "see its vendor": "no advice",
}
