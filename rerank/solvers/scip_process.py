"""A script that solves one file with PySCIPOpt: ``scip_process.py key=value ... model.mps scip.sol``.

It is started by its path, so it imports nothing of this package.
"""

import sys


def main(*words: str) -> None:
    """Solve, print one ``answer key value`` line for each figure, and write the best point found."""
    from pyscipopt import Model

    print_version()
    model = Model()
    *pairs, model_path, solution_path = words
    settings = dict(pair.split("=", 1) for pair in pairs)
    start = settings.pop("start", None)
    for key, text in settings.items():
        model.setParam(key, type(model.getParam(key))(float(text)))
    model.readProblem(model_path)
    if start is not None:
        print("answer start", bool(model.addSol(model.readSolFile(start))))
    # SCIP catches Ctrl-C itself and then ends the solve as it does at a limit.
    model.optimize()
    print("\nanswer status", model.getStatus())
    print("answer bound", repr(model.getDualbound()))
    print("answer nodes", model.getNTotalNodes())
    if model.getNSols():
        print("answer objective", repr(model.getObjVal()))
        model.writeBestSol(solution_path)


def print_version() -> None:
    """Print the versions of SCIP and of its wrapper."""
    import pyscipopt

    print(f"answer version {pyscipopt.Model().version()} (PySCIPOpt {pyscipopt.__version__})", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) > 1 else print_version()
