"""The search, every program, other solvers and whole fits against exact enumeration.

Of ``N`` instances a fifth are grids with decimal margins, a third of the others is extreme (:mod:`.draws`); a tenth as
many others are searched by rows, a tenth as many under quotas, half of these with large margins, a tenth as many go
through every program and HiGHS, a tenth as many have two features and up to 120 items, a tenth as many are whole fits
with a shortlist, and three in a hundred become files that CBC, GLPK and SCIP solve.

Printed by ``python -m benchmarks.trust --agreement``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from benchmarks.trust.draws import mixed, with_score
from benchmarks.trust.shortlists import fitted
from benchmarks.trust.summary import Case, Summary, over_seeds
from rerank.errors import SolverError
from rerank.search import run
from rerank.search.rows import choice
from tests.cases.adversarial import adversarial
from tests.cases.instances import Instance, draw, on_grid, with_hits
from tests.cases.quotas import with_quotas
from tests.oracles.comparisons import RULES, SLACK, Verdict, applicable, check_programs, check_search, stated
from tests.oracles.oracle import optimum
from tests.oracles.sweep import sweep

SECONDS = 60.0
OPEN = ("not closed", "open by more than rounding")
OTHERS = ("cbc", "glpk", "scip")


def agreement(size: int, first: int, jobs: int) -> Summary:
    """All comparisons, in the proportions above."""
    named = Summary(f"{len(adversarial())} named cases")
    for name, problem in adversarial().items():
        named.add(_case(name, "named", check_search(problem, time_limit=2.0)))
    tenth = max(1, size // 10)
    return (
        named
        + over_seeds("searches", searched, size, first, jobs)
        + over_seeds("searches by rows", searched_by_rows, tenth, first, jobs)
        + over_seeds("searches under quotas", quoted, tenth, first, jobs)
        + over_seeds("searches in the plane", swept, tenth, first, jobs)
        + over_seeds("instances with every program in HiGHS", programmed, tenth, first, jobs)
        + over_seeds("fits with a shortlist", fitted, tenth, first, jobs)
        + over_seeds("files in CBC, GLPK and SCIP", filed, max(1, 3 * size // 100), first, jobs)
    )


def searched(seed: int) -> Case:
    """The search on the problem of a seed.

    One that time cuts short is no error while its value and bound hold; it gets more time and is then named.
    """
    instance = mixed(seed)
    verdict = check_search(instance.problem)
    if _is_open(verdict):
        verdict = _named(instance, check_search(instance.problem, time_limit=SECONDS), SECONDS)
    return _case(str(instance), instance.kind, verdict)


def searched_by_rows(seed: int) -> Case:
    """The search that long lists get; half of the problems are anchored, every third one weighs hits."""
    instance = on_grid(seed) if seed % 5 == 1 else draw(seed, n_max=12)
    instance = with_score(instance) if seed % 2 else instance
    if seed % 3 == 0:
        instance = replace(instance, problem=with_hits(instance.problem, seed))
    with patch.object(choice, "by_rows", lambda *_: True), patch.object(run, "lines_by_rows", lambda _: True):
        verdict = _named(instance, check_search(instance.problem, time_limit=10.0), 10.0)
    return _case(str(instance), "rows", verdict)


def quoted(seed: int) -> Case:
    """The search under quotas; half of the problems have large margins, every third has a proof."""
    problem = with_quotas(seed, n_max=5, d_max=3) if seed % 4 == 0 else with_quotas(seed, n_max=9)
    if seed % 2:
        problem = problem.with_epsilon(("0.1", "0.25", "0.5")[seed % 3])
    verdict = check_search(problem, time_limit=SECONDS, proof=seed % 3 == 0)
    return _case(f"quotas of seed {seed}", "quotas", verdict)


def _is_open(verdict: Verdict) -> bool:
    return bool(verdict.failures) and all(text.startswith(OPEN) for text in verdict.failures)


def _named(instance: Instance, verdict: Verdict, seconds: float) -> Verdict:
    """The verdict; where nothing is wrong but that the search is open, it is printed and counted as such."""
    if not _is_open(verdict):
        return verdict
    print(f"open after {seconds:.0f} s: {instance}", *verdict.failures, sep="\n    ", flush=True)
    return Verdict((), (f"open after {seconds:.0f} s",))


def swept(seed: int) -> Case:
    """The search in two dimensions, against a sweep over all critical angles."""
    while (instance := draw(seed, n_max=120, d_max=2)).problem.n_features != 2:
        seed += 10**6
    return _case(str(instance), "plane", check_search(instance.problem, lambda p: sweep(p).value))


def programmed(seed: int) -> Case:
    """Every program by HiGHS; one seed in five is AUC, which has a program of its own."""
    instance = _small(seed)
    return _case(str(instance), "programs", check_programs(instance, SECONDS))


def filed(seed: int) -> Case:
    """One program as a file, in three other solvers."""
    instance = _small(seed)
    refused: list[str] = []
    return _case(str(instance), "files", Verdict(tuple(_other_solvers(instance, refused)), tuple(refused)))


def _other_solvers(instance: Instance, refused: list[str]) -> Iterator[str]:
    """What contradicts enumeration; answers that this package refuses are listed in ``refused``."""
    from formulations import mps
    from formulations.compile import compile_model
    from rerank.solvers import gateway

    problem = instance.problem
    if not problem.units:
        return
    names = applicable(instance)
    name = names[instance.seed % len(names)]
    program = compile_model(stated(name, problem))
    low, high = (optimum(replace(problem, epsilon=problem.epsilon + shift), RULES[name]) for shift in (SLACK, -SLACK))
    assert low is not None and high is not None
    room = 1e-6 * max(1.0, abs(float(high.value)))
    with tempfile.TemporaryDirectory() as folder:
        path, _ = mps.write(program, Path(folder) / "program.mps")
        for solver in OTHERS:
            try:
                outcome = gateway.solve_file(path, solver, time_limit=SECONDS)
            except SolverError:
                refused.append(f"answers of {solver} refused")
                continue
            if outcome.holds != "optimal" or outcome.objective is None:
                yield f"{name} in {solver}: {outcome.stop}, {outcome.holds}: {outcome.message}"
                continue
            value, tied = (outcome.objective + problem.constant, name == "resolved_rank" and instance.kind == "tiny")
            if not float(low.value) - room <= value <= float(high.value) + room and not tied:
                yield f"{name} in {solver}: {value!r}, not in {float(low.value)!r} .. {float(high.value)!r}"


def _small(seed: int) -> Instance:
    if seed % 5 == 1:
        return on_grid(seed, n_max=7)
    return draw(seed, n_max=7, statistic="auc" if seed % 5 == 0 else None)


def _case(described: str, kind: str, verdict: Verdict) -> Case:
    return Case(described, verdict.failures, (kind, *verdict.seen))
