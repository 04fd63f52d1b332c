"""The result of a fit: its numbers, shown as :func:`rerank.reranker.describe.describe` has them in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rerank.errors import NotSupportedError
from rerank.io.page import Part, as_html, as_text
from rerank.reranker.describe import describe, message
from rerank.reranker.solution import Numbers


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result(Numbers):
    """The numbers of a fit, :class:`rerank.reranker.solution.Numbers`, which print as sentences."""

    def __repr__(self) -> str:
        return as_text(self.parts())

    def _repr_html_(self) -> str:
        return as_html(describe(self).shown())

    def parts(self) -> list[Part]:
        """What was asked, the answer, held-out rows, proof and notes."""
        return describe(self).parts()

    def plot_history(self, ax: Any = None) -> Any:
        """Draw value (solid) and bound (dashed) over time on these axes, or on new ones, which are returned. Not for a
        result in which neither search nor solver had a part, or that was read from a file.
        """
        from rerank.plots import bound_over_time

        if not self.history:
            raise NotSupportedError("The search had no part in this result, or it was read from a file.")
        who = ", ".join(phase for phase in dict.fromkeys(("search", self.solver or "")) if phase in self.seconds)
        axes = bound_over_time({who: self.history}, unit=self.fitted_name, ax=ax)
        axes.set_title(f"value {self.value:.4g}, bound {self.bound:.4g}", fontsize=10)
        return axes

    @property
    def message(self) -> str:
        """One or two sentences: what holds, and what to do about it."""
        return message(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for ``--json`` and the model file."""
        first = {name: getattr(self, name) for name in ("statistic", "value", "bound", "gap")}
        last = {
            "proved": self.proved,
            "message": self.message,
            "weights": self.weights.tolist(),
            "shortlist": {**vars(self.shortlist), "constant_features": list(self.shortlist.constant_features)},
            "seconds": dict(self.seconds),
            "model_size": None if self.model_size is None else dict(self.model_size),
            "notes": list(self.notes),
            "left_out": list(self.left_out),
        }
        last |= {} if self.evidence is None else {"evidence": self.evidence.to_dict()}
        elsewhere = {*first, *last, "certificate", "proof", "evidence", "said", "history", "asked"}
        elsewhere |= {"ties"} if self.ties == "pessimistic" else set()
        elsewhere |= {"statistic_bound"} if self.statistic_bound is None else set()
        return first | {name: value for name, value in vars(self).items() if name not in elsewhere} | last
