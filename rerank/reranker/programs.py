"""Programs and files of a fitted reranker: build, export, read back, save."""

from __future__ import annotations

import os
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from rerank.reranker.state import FittedState


class ProgramsMixin:
    """Programs and files of a fitted state, for a class with ``formulation`` and ``state_``."""

    formulation: str
    state_: FittedState

    def build_model(self, **choices: Any) -> Any:
        """The Pyomo ConcreteModel of the fitted problem; ``choices`` go to the builder (``linking``,
        ``big_m``, ...).
        """
        from rerank.reranker.solve.program import build_model

        return build_model(self._fitted().known_problem(), self._program(), **choices)

    def statistic_bound(self, time_limit: float | None = 60.0) -> float:
        """A bound on what is fitted, without margin and penalty: no allowed weights rank the training lists better.

        By a search of its own, see :func:`rerank.search.statistic_bound`. With a window or a list length it bounds that
        statistic, ``result_.fitted_name``, and not the one that is quoted.
        """
        from rerank.search import statistic_bound

        state = self._fitted()
        given = (state.known_problem(), time_limit, state.weights if state.weights.any() else None)
        return statistic_bound(*given, state.settings.n_jobs, state.settings.seed)

    def audit(self, time_limit: float | None = 60.0) -> str:
        """A sentence for people: what no weights, or no corrections within the radius, can exceed on these lists."""
        bound, state = self.statistic_bound(time_limit), self._fitted()
        stage, certificate = state.first_stage, state.result.certificate
        who = "No allowed weights of these columns have"
        if state.anchored and stage is not None:
            score = "out-of-fold score" if state.result.folds else "score"
            who = f"No correction of the {score} of {stage.name} within radius {state.settings.radius:g} has"
        now = "" if certificate is None else f"; the one that was found has {float(certificate.statistic):.6g}"
        return f"{who} a {state.result.fitted_name} above {bound:.6g} on the training lists{now}."

    def export_mps(self, path: str | os.PathLike[str], **choices: Any) -> tuple[str, str]:
        """Write the program as a portable ``.mps`` file, and a ``.json`` file that can rebuild this estimator;
        return both paths.
        """
        from rerank.reranker.files.export import export

        return export(self._fitted(), self._program(), path, choices)[:2]

    def load_solution(self, path: str | os.PathLike[str], dialect: str | None = None, **choices: Any) -> Self:
        """Use the weights of another solver's solution file, polished and recomputed exactly.

        Parameters
        ----------
        path : path
            Solution of HiGHS, CBC, SCIP, GLPK or Gurobi for the program of :meth:`export_mps`.
        dialect : str, optional
            The solver that wrote it; recognised if omitted.

        Raises
        ------
        CertificateError
            If the weights do not give the solution's objective when recomputed exactly, even after polishing.
        """
        from rerank.reranker.files.export import load_solution

        return self._adopt(load_solution(self._fitted(), self._program(), path, dialect, choices))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that is needed to rank rows and to verify the result, as JSON without pickle."""
        from rerank.reranker.files.document import save

        save(self._fitted(), path)

    def _program(self) -> str:
        """Name of the program that ``formulation`` asks for."""
        from rerank.reranker.solve.program import chosen_formulation

        return chosen_formulation(self.formulation, self._fitted().settings.statistic)

    def _fitted(self) -> FittedState:
        check_is_fitted(self, "result_")
        return self.state_

    def _adopt(self, state: FittedState) -> Self:
        raise NotImplementedError
