"""Mathematical programs that fit linear rankings exactly: importable by themselves, with Pyomo and NumPy.

Modules ``subrank``, ``resolved_rank``, ``mixed``, ``auc``, ``pairwise`` and ``card`` each state one program and build
it; :mod:`formulations.compile` turns a model into arrays, :mod:`formulations.mps` arrays into portable files. Nothing
here imports ``rerank`` or a solver.
"""
