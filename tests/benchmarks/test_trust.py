"""The checks of reliability at tiny sizes: each runs, says what it did, and finds what is wrong."""

import ast
import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks.trust import agreement, covered, invariance, limit_table, mutation, proofs, repeats, soak
from benchmarks.trust.__main__ import CHECKS, main
from benchmarks.trust.draws import KINDS, extreme
from benchmarks.trust.limits import excess
from benchmarks.trust.mutators import mutants
from benchmarks.trust.shortlists import drawn, fitted, wrong
from benchmarks.trust.summary import Case, Summary, over_seeds
from tests.oracles.comparisons import Verdict

ROOT = Path(__file__).parents[2]


def even_is_wrong(seed: int) -> Case:
    return Case(f"seed {seed}", ("even",) if seed % 2 == 0 else (), ("seen",))


def test_a_summary_counts_and_says_size_and_seeds() -> None:
    summary = over_seeds("numbers", even_is_wrong, 5, 10, 1)
    assert re.fullmatch(r"5 numbers, seeds 10 to 14, \d+ s, 3 wrong \(seen 5\)", str(summary))
    both = summary + Summary("more")
    assert len(both.failures) == 3 and both.text.endswith("; more")


def test_the_command_runs_a_check_and_its_exit_code_says_what_it_found(monkeypatch, capsys) -> None:
    assert main(["--proofs", "2", "--first", "3"]) == 0
    assert capsys.readouterr().out.startswith("proofs: 2 proofs, seeds 3 to 4, ")
    monkeypatch.setattr(proofs, "verified", even_is_wrong)
    assert main(["--proofs", "1"]) == 1


@pytest.mark.parametrize("name", sorted(CHECKS))
def test_every_check_is_documented_with_its_standard_size(name: str) -> None:
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert f"`--{name}" in page


def test_agreement() -> None:
    summary = agreement.agreement(2, 0, 1)
    assert not summary.failures
    assert all(part in summary.text for part in ("named cases", "searches", "HiGHS", "shortlist", "GLPK"))


def test_agreement_finds_a_search_that_is_wrong(monkeypatch) -> None:
    monkeypatch.setattr(agreement, "check_search", lambda problem, **options: Verdict(("value overstates",)))
    assert agreement.searched(0).failures == ("value overstates",)
    monkeypatch.setattr(agreement, "check_search", lambda problem, **options: Verdict(("not closed: ...",)))
    assert agreement.searched(0).seen[-1] == "open after 60 s"


KINDS_OF_FITS = {row.name.partition(",")[0]: row for row in limit_table.ROWS}


@pytest.mark.parametrize("kind", KINDS_OF_FITS)
def test_each_kind_of_fit_in_the_table_of_limits_runs(kind: str) -> None:
    row = replace(KINDS_OF_FITS[kind], limit=0.5)
    if kind.startswith("card"):
        row = replace(row, made=partial(row.made, points=1))
    assert limit_table.timed(row, 4 if row.made is limit_table.fused else 60)[0] >= 0


def test_a_limit_holds_for_very_many_short_lists() -> None:
    (row,) = (row for row in limit_table.ROWS if row.name.startswith("30,000 lists of one"))
    limit_table.timed(row, 300)
    assert excess(limit_table.timed(row, row.size)[0], row.limit) <= 1


def test_the_table_of_limits_says_what_is_late(monkeypatch, capsys) -> None:
    late, held = (replace(limit_table.ROWS[0], name=name, size=20) for name in ("late", "held"))
    monkeypatch.setattr(limit_table, "ROWS", (late, held))
    monkeypatch.setattr(limit_table, "timed", lambda row, size: (2.1 if row is late else 2.0, 2.0))
    summary = limit_table.times(1, 0, 1)
    assert len(summary.failures) == 1 and "late | 1 | 2.10" in summary.failures[0]
    assert capsys.readouterr().out.count("| yes |") == 1


def test_extreme_instances_are_what_they_say() -> None:
    found = {extreme(seed).kind for seed in range(60)}
    assert found == set(KINDS)
    again, first = extreme(7), extreme(7)
    assert str(again) == str(first) and np.array_equal(again.problem.X, first.problem.X)


def test_a_fit_with_a_false_value_is_found() -> None:
    from rerank import Reranker

    table = drawn(0)
    assert not fitted(0).failures
    estimator = Reranker(solver="search", **table.options).fit(table.X, table.y, table.qid)
    estimator.state_ = replace(
        estimator.state_, result=replace(estimator.result_, status="optimal", value=9e9, bound=-9e9)
    )
    if hasattr(estimator, "_adopt"):
        estimator._adopt(estimator.state_)
    assert list(wrong(table, estimator))


def test_invariance() -> None:
    assert not invariance.moved(0).failures
    assert not invariance.refitted(1).failures


def test_mutants_of_proofs_are_refused_and_a_lax_checker_is_found(monkeypatch) -> None:
    assert not proofs.altered(0).failures
    monkeypatch.setattr(proofs, "verify_proof", lambda problem, proof: type("Lax", (), {"ok": True}))
    assert len(proofs.altered(0).failures) > 20


def test_repeats_and_soak(monkeypatch) -> None:
    few = dict(list(repeats.fits(0).items())[:1])
    monkeypatch.setattr(repeats, "fits", lambda seed: few)
    assert not repeats.repeats(2, 0, 1).failures
    numbers = iter(range(9))
    monkeypatch.setattr(repeats, "fits", lambda seed: {"changing": lambda: [next(numbers)]})
    assert repeats.repeats(2, 0, 1).failures
    kept: list[np.ndarray] = []
    monkeypatch.setattr(soak, "_jobs", lambda seed, folder: {"leak": lambda: kept.append(np.ones(10**6))})
    assert "memory grows" in soak.soak(0.001, 0, 1).failures[0]


def test_mutators_change_one_thing() -> None:
    source = (
        '"""Doc."""\nTies = Literal["a", 7]\n\ndef f(a: int | None = 1) -> int:\n    """Doc."""\n'
        "    x[0] = a < 2 and not a\n    return a + 1\n"
    )
    changed = [ast.unparse(mutant.tree) for mutant in mutants(source)]
    assert len(set(changed)) == len(changed) and ast.unparse(ast.parse(source)) not in changed
    for piece in ("a <= 2", "or", "a - 1", "return None", "pass", "a + 2", "x[1]", "a < 3", "None=2"):
        assert any(piece in text for text in changed), piece
    assert all('"""Doc."""' in text and "int | None" in text and "7]" in text for text in changed)


def test_the_ranges_of_missed_lines() -> None:
    assert covered._ranges([1, 3, 4, 5, 9]) == "1, 3-5, 9"
    report = {"files": {"a.py": {"summary": {"percent_covered": 50.0}, "missing_lines": [2, 3]}}}
    assert covered._below(json.loads(json.dumps(report))) == [("a.py", 50.0, "2-3")]


def test_a_module_is_replaced_by_its_mutant() -> None:
    path = ROOT / "rerank" / "ranks" / "positions.py"
    finder = mutation._Finder("some.module", path, ast.parse("answer = 42"))
    spec = finder.find_spec("some.module")
    assert finder.find_spec("another") is None and spec is not None
    names: dict = {}
    exec(spec.loader.get_code("some.module"), names)
    assert names["answer"] == 42
    assert mutation._ordered(path, "tests/ranks")[0] == "tests/ranks/test_positions.py"
