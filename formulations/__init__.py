"""Mathematical programs that fit linear rankings exactly: importable by themselves, with Pyomo and NumPy.

Modules ``subrank``, ``resolved_rank``, ``mixed``, ``auc``, ``pairwise``, ``pos_top`` and ``card`` each state one
program and build it; :mod:`formulations.compile` turns a model into arrays, :mod:`formulations.mps` those into portable
files. Nothing here imports ``rerank`` or a solver.
"""
