"""A script that solves one file with PySCIPOpt: ``scip_process.py key=value ... model.mps scip.sol``.

It is started by its path, so it imports nothing of this package.
"""

import sys

WORDS = {  # what SCIP calls an end, where that is not our word for it
    "inforunbd": "unsure",
    "gaplimit": "gap",
    "timelimit": "time",
    "nodelimit": "nodes",
    "userinterrupt": "interrupt",
}


def main(*words: str) -> None:
    """Solve, print one ``answer key value`` line for each figure, and write the best point found."""
    from pyscipopt import Model

    print_version()
    model = Model()
    *pairs, model_path, solution_path = words
    settings = dict(pair.split("=", 1) for pair in pairs)
    start, cutoff = settings.pop("start", None), settings.pop("cutoff", None)
    for key, text in settings.items():
        try:
            model.setParam(key, value_of(text, type(model.getParam(key))))
        except (KeyError, ValueError) as error:
            raise SystemExit(f"SCIP refuses {key} = {text}: {error.args[0]}") from None
    model.readProblem(model_path)
    if cutoff is not None:
        model.setObjlimit(float(cutoff))
    if start is not None:
        print("answer start", bool(model.addSol(model.readSolFile(start))))
    # SCIP catches Ctrl-C itself and then ends the solve as it does at a limit.
    model.optimize()
    print("\nanswer ending", WORDS.get(model.getStatus(), model.getStatus()))
    print("answer bound", repr(model.getDualbound()))
    print("answer nodes", model.getNTotalNodes())
    if model.getNSols():
        print("answer objective", repr(model.getObjVal()))
        model.writeBestSol(solution_path)


def value_of(text: str, kind: type) -> bool | int | float | str:
    """A value in the type of its parameter."""
    if kind is bool:
        return text.lower() in ("true", "1", "1.0")
    return text if kind is str else kind(float(text))


def print_version() -> None:
    """Print the versions of SCIP and of its wrapper."""
    import pyscipopt

    print(f"answer version {pyscipopt.Model().version()} (PySCIPOpt {pyscipopt.__version__})", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) > 1 else print_version()
