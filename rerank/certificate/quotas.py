"""Whether the order by exact scores meets quotas: rows of a group are counted among the first places of each list."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.certificate.lists import exact_scores
from rerank.errors import CertificateError
from rerank.problem import Problem, Quota
from rerank.problem.lists import Floats


def check_quotas(problem: Problem, scores: NDArray[Any]) -> None:
    """Refuse scores (n,) of all rows, exactly, whose order does not meet a quota: a CertificateError names it."""
    for quota in problem.quotas:
        for item in problem.lists:
            own = scores[item.rows].tolist(), np.isin(item.rows, quota.rows).tolist()
            fewest, most = (counted(*own, quota.first, first=first) for first in (False, True))
            if quota.least is not None and fewest < quota.least:
                raise CertificateError(_unmet(quota, fewest))
            if quota.most is not None and most > quota.most:
                raise CertificateError(_unmet(quota, most))


def meets_quotas(problem: Problem, weights: Floats) -> bool:
    """Whether the order by weights meets all quotas."""
    with suppress(CertificateError):
        check_quotas(problem, exact_scores(problem, weights)[0])
        return True
    return False


def counted(scores: list[int], member: list[bool], places: int, first: bool) -> int:
    """Members among the first places; of equal scores theirs stand first, or last."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], member[i] != first))
    return sum(member[i] for i in order[:places])


def _unmet(quota: Quota, count: int) -> str:
    return (
        f"The weights put {count} of {quota.name} among the first {quota.first}, tied rows counted against the quota, "
        f"and '{quota}' is not met; take other weights, or another quota."
    )
