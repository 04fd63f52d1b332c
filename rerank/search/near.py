"""Weights that are nearly as good as given ones: a sample by random steps, each value exact."""

import numpy as np

from rerank.errors.stops import current, limited
from rerank.problem import Problem
from rerank.problem.lists import Floats
from rerank.search.run import SearchRun
from rerank.search.warm import ready

HALVINGS = 24  # of a step, until its end is good enough
STEPS = 1_000  # in all, at most


def near(problem: Problem, starts: list[Floats], least: float, seconds: float, random_state: int = 0) -> list[Floats]:
    """Allowed weights in scaled space worth at least ``least``, penalty included, the good starts first. They are found
    by steps from these, none after so many seconds. A step goes along a feature's axis, between two weights found, or
    in a random direction, as far as it can by halves; features without a weight stay without one where few are allowed.
    """
    with limited(seconds):
        ready(problem, points=True)
        run = SearchRun(problem, random_state, points=True)
        rng, domain = np.random.default_rng([51, random_state]), run.domain
        found: dict[bytes, Floats] = {}

        def taken(v: Floats) -> bool:
            v = domain.normal(v)
            most = problem.max_features
            if (most is not None and domain.used(v) > most) or not run.quotas.meets(v):
                return False
            good = run.tables.to_value(run.exact.value(v)) - problem.C * domain.used(v) >= least
            if good:
                found.setdefault(v.tobytes(), v)
            return good

        for w in starts:
            taken(np.asarray(w, dtype=np.float64) / domain.scale)
        for step in range(STEPS if found else 0):
            if current().now:
                break
            known = list(found.values())
            v = known[rng.integers(len(known))]
            free = np.flatnonzero(v if problem.max_features is not None or problem.C > 0 else np.ones(v.size))
            free = free[free >= len(domain.anchor)]
            if not free.size:
                continue
            u = np.zeros(v.size)
            if step % 3 == 0:
                u[rng.choice(free)] = rng.choice([-2.0, 2.0])
            elif step % 3 == 1:
                u[free] = rng.standard_normal(free.size)
            else:
                u[free] = 2.0 * (v - known[rng.integers(len(known))])[free]
            for half in range(HALVINGS):
                if taken(v + u * 0.5**half):
                    break
        return [domain.weights(v) for v in found.values()]
