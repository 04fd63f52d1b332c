"""A script that solves one file with gurobipy: ``gurobi_process.py Key=Value ... model.mps``, as ``gurobi_cl`` does.

It is started by its path, so it imports nothing of this package.
"""

import sys


def main(*words: str) -> None:
    """Solve and leave the log of Gurobi; write the best point found to ``ResultFile``."""
    import gurobipy

    settings = dict(word.split("=", 1) for word in words[:-1])
    result, start = settings.pop("ResultFile"), settings.pop("InputFile", None)
    print_version()
    try:
        with gurobipy.Env(empty=True) as environment:
            for key, text in settings.items():
                environment.setParam(key, int(text) if key in ("Threads", "Seed") else number(text))
            environment.start()
            with gurobipy.read(words[-1], environment) as model:
                if start is not None:
                    model.read(start)
                # Ctrl-C ends the solve as a limit does.
                model.optimize()
                if model.SolCount:
                    model.write(result)
    except (gurobipy.GurobiError, TypeError) as error:
        raise SystemExit(f"{error}") from None


def number(text: str) -> float | str:
    """The number that a text states, else the text."""
    try:
        return float(text)
    except ValueError:
        return text


def print_version() -> None:
    """Print the version as ``gurobi_cl --version`` does."""
    import gurobipy

    print("Gurobi Optimizer version", ".".join(map(str, gurobipy.gurobi.version())), flush=True)


if __name__ == "__main__":
    print_version() if sys.argv[1:] == ["--version"] else main(*sys.argv[1:])
