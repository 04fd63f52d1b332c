"""Rows of a program that say which pairs cannot all be won.

A circuit with the pairs P gives ``sum_{p in P} z_p <= |P| - 1``, whatever the statistic, the gains and the weights of
pairs are: it is about one ``z`` for each pair of rows, and thresholds count the same ``z``.  It holds for all allowed
weights, so in every box of them: a pair that the box wins leaves the sum and lowers the right side, and one that it
loses keeps the row by itself.

The circuits belong to one margin and to one scaling of the features.  They are proved in whole numbers for those of the
problem that is stated as a program, before they become rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from rerank.certificate.check.circuits import infeasible
from rerank.certificate.check.exact import ExactProblem
from rerank.errors import CertificateError
from rerank.problem import Problem
from rerank.problem.proof import Circuits
from rerank.reranker.solve.program import Stated

PREFIX = "Q"


def with_circuits(stated: Stated, problem: Problem, circuits: Circuits) -> Stated:
    """The program with a row for each circuit.

    Parameters
    ----------
    stated : Stated
        The problem as ``mixed`` or ``auc``.
    problem : Problem
    circuits : Circuits
        Their shares are not read.

    Raises
    ------
    CertificateError
        If the multipliers of a circuit do not show that its pairs cannot all be won.
    """
    rows = _rows(stated, problem, circuits)
    if not rows:
        return stated
    p = stated.program
    sizes = [len(columns) for columns, _ in rows]
    entries = np.concatenate([columns for columns, _ in rows])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    more = sparse.csr_array((np.ones(entries.size), entries, starts), shape=(len(rows), len(p.columns)))
    program = replace(
        p,
        matrix=sparse.csr_array(sparse.vstack([p.matrix, more], format="csr")),
        row_lower=np.append(p.row_lower, np.full(len(rows), -np.inf)),
        row_upper=np.append(p.row_upper, [float(most) for _, most in rows]),
        rows=(*p.rows, *(f"{PREFIX}{number}" for number in range(len(rows)))),
    )
    return replace(stated, program=program)


def _rows(stated: Stated, problem: Problem, circuits: Circuits) -> list[tuple[list[int], int]]:
    """Columns and right side of the row of each circuit that has one."""
    wins = stated.model.rerank_info.layout.wins
    state = dict(zip(map(tuple, wins.pairs.tolist()), wins.state.tolist(), strict=True))
    column = {name: j for j, name in enumerate(stated.program.columns)}
    exact, rows, at = ExactProblem(problem), [], 0
    for size in circuits.sizes.tolist():
        part = slice(at, at + size)
        at += size
        pairs = [(int(i), int(k)) for i, k in circuits.pairs[part]]
        if not infeasible(exact, pairs, circuits.multipliers[part].tolist()):
            raise CertificateError(
                f"The pairs of rows {pairs} are said to be a circuit, but some weights may win them all; please report "
                "this."
            )
        decided = [state.get(pair, -1) for pair in pairs]  # the program does not ask for every pair
        if min(decided) >= 0 and not all(decided):
            open_ = [column[f"z{i}_{k}"] for (i, k), won in zip(pairs, decided, strict=True) if not won]
            rows.append((sorted(open_), len(open_) - 1))
    return rows
