"""``python -m tests.scorecard.agreement N``: N random tables, half of them with rules, by everyone who can solve them.

Search, program by HiGHS and by SCIP, enumeration and verification must agree, as fractions.
"""

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from formulations import mps
from rerank.errors import InputError
from rerank.solvers import Holds, gateway
from tests.cases.cards import draw
from tests.scorecard import oracle

PLAIN = {"n_questions": 1}


def solved(path, solver):
    """Points by column, and the objective, of an exported program."""
    outcome = gateway.solve_file(path, solver, time_limit=300)
    assert outcome.holds is Holds.optimal, outcome
    program = mps.read(path)
    return np.rint(outcome.x[program.weights]).astype(int), outcome.objective


def check(case, folder, solvers):
    """The value that all agree on; a sentence where the estimator refuses the case."""
    try:
        card = case.fit()
    except InputError as error:
        if str(error).startswith("No card"):
            assert oracle.best_of(case, replace(case, asked=PLAIN).fit().questions_) is None
        return str(error)
    assert card.result_.status == "optimal"
    value = card.verify().value
    assert value == oracle.best_of(case, card.questions_)
    cards, rows = oracle.cards_of(case, card.questions_), oracle.of_case(case)
    path, _ = card.export_mps(Path(folder) / "card.mps")
    for solver in solvers:
        points, objective = solved(path, solver)
        used = np.flatnonzero(points)
        totals = cards[tuple(used), tuple(points[used])]  # an allowed card
        # The solver's points are the best card's, exactly; its objective has the tolerance of solvers.
        assert oracle.value("auc", totals, rows) == value and abs(objective - float(value)) < 1e-6, (
            solver,
            objective,
            value,
        )
    return value


def main(many):
    began, agreed, refused = time.process_time(), {False: 0, True: 0}, 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(3 * many):
            ruled = seed % 2 == 1
            if agreed[ruled] < many / 2:
                found = check(draw(seed, ruled), folder, ("highs", "scip"))
                agreed[ruled] += not isinstance(found, str)
                refused += isinstance(found, str)
                print(f"{seed}: {found}", flush=True)
    seconds = time.process_time() - began
    print(
        f"{sum(agreed.values())} tables agree, {agreed[True]} of them with rules; {refused} more were refused; "
        f"{seconds:.0f} CPU s in this process"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
