"""Readers of files under damaged input; inputs that fail are kept as files for the tests.

Printed by ``python -m benchmarks.trust --fuzz``.
"""

from __future__ import annotations

import math

from joblib import Parallel, delayed

from benchmarks.trust.summary import Summary
from tests.cases.fuzz import READERS, failures, keep


def fuzz(size: int, first: int, jobs: int, minutes: float = math.inf) -> Summary:
    """Give every reader ``size`` damaged files, or as many as the minutes for all readers together allow."""
    share, seconds = -(-size // jobs), 60.0 * minutes / len(READERS)
    summary = Summary("")
    for name in READERS:
        parts = Parallel(n_jobs=jobs)(delayed(failures)(name, share, seconds, first + job) for job in range(jobs))
        summary.seen[name] += sum(count for count, _ in parts)
        for failure in (failure for _, found in parts for failure in found):
            summary.failures.append(f"{name}: {failure.what[:160]} -> {keep(failure).name}")
            print(summary.failures[-1], flush=True)
    summary.text = f"{summary.seen.total()} damaged files for {len(READERS)} readers, seeds from {first}"
    return summary
