"""Random problems with quotas: small, half of them on grids, with given scores and without."""

from dataclasses import replace

import numpy as np

from rerank.errors import InputError
from rerank.problem import Problem, Quota
from rerank.problem.quotas import check_quotas
from tests.cases.instances import draw
from tests.oracles.anchored import corrected


def with_quotas(seed: int, *, n_max: int = 9, d_max: int = 2, anchored: bool | None = None) -> Problem:
    """A drawn problem with one or two quotas that no counting refuses; they may still be out of reach."""
    rng = np.random.default_rng([33, seed])
    while True:
        problem = draw(int(rng.integers(2**31)), n_max=n_max, d_max=d_max).problem
        try:
            if rng.random() < 0.3 if anchored is None else anchored:
                problem = corrected(rng, problem)
            quotas = drawn_quotas(rng, problem)
            check_quotas(quotas, problem.lists)
            return replace(problem, quotas=quotas)
        except InputError:
            continue


def drawn_quotas(rng: np.random.Generator, problem: Problem) -> tuple[Quota, ...]:
    """One or two quotas on two kinds of rows."""
    n = problem.X.shape[0]
    kinds = rng.choice(["A", "B"], size=n, p=[0.4, 0.6])
    found = []
    for _ in range(int(rng.integers(1, 3))):
        name = str(rng.choice(["A", "B"]))
        longest = max(item.rows.size for item in problem.lists)
        first, count = int(rng.integers(1, longest + 1)), int(rng.integers(0, 4))
        least, most = (count, None) if rng.random() < 0.6 else (None, count)
        found.append(Quota(name, first, least, most).of(np.flatnonzero(kinds == name)))
    return tuple(found)
