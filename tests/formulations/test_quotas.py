"""Quotas as rows of ResolvedRank: its optimum is that of an enumeration of all orders outside the gap."""

import numpy as np
import pytest

from formulations import resolved_rank
from formulations.compile import compile_model
from rerank.solvers import Options, highs
from tests.cases.quotas import with_quotas
from tests.oracles.comparisons import stated
from tests.oracles.quotas import best

pytestmark = pytest.mark.filterwarnings("ignore:ResolvedRank forbids")


def drawn(count, first):
    """Problems in which no two rows are so near that a solver's tolerance decides between them."""
    found, seed = [], first
    while len(found) < count:
        problem = with_quotas(seed, n_max=6, anchored=False)
        apart = np.abs(problem.scaled[:, None] - problem.scaled[None])
        if problem.units and not ((apart > 0) & (apart < 1e-9)).any():
            found.append(problem)
        seed += 1
    return found


@pytest.mark.parametrize("part", range(4))
def test_the_optimum_is_the_enumerated_one_with_both_kinds_of_links(part):
    none = 0
    for problem in drawn(10, 100 * part):
        most = best(problem, gap=False)
        none += most is None
        assert most is None or most.value <= best(problem).value
        for linking in ("paper", "ordered"):
            outcome = highs.solve(
                compile_model(stated("resolved_rank", problem, linking=linking)), Options(time_limit=30.0)
            )
            if most is None:
                assert outcome.objective is None
            else:
                assert outcome.objective + problem.constant == pytest.approx(float(most.value), abs=1e-6)
    assert none < 10


def test_weights_become_a_point_and_those_that_miss_a_quota_do_not():
    for problem in drawn(12, 900):
        model = stated("resolved_rank", problem, linking="paper")
        program, seen = compile_model(model), set()
        for w in np.random.default_rng(0).uniform(-1, 1, (40, problem.n_features)):
            assigned = resolved_rank.assignment(model, w)
            seen.add(assigned.values is not None)
            if assigned.values is not None:
                x = program.vector(assigned.values)
                rows = program.matrix @ x
                assert (rows <= program.row_upper + 1e-7).all() and (rows >= program.row_lower - 1e-7).all()
            else:
                assert assigned.violated.startswith(("quota_count", "win_when_above", "bounds", "support_limit"))
