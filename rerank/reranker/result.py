"""The result of a fit: its numbers, which print as sentences."""

from typing import Any

from rerank.errors import NotSupportedError
from rerank.io.bounded import Json
from rerank.io.page import Part, as_html, as_text
from rerank.reranker.describe import describe, message
from rerank.reranker.figures import Figures


class Result(Figures):
    """The numbers of a fit (:class:`rerank.reranker.figures.Figures`), which print as sentences."""

    def __repr__(self) -> str:
        return as_text(self.parts())

    def _repr_html_(self) -> str:
        return as_html(describe(self).on_page())

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

    def to_dict(self) -> Json:
        """Plain JSON values, for ``--json`` and the model file."""
        first = {"value": self.value, "bound": self.bound, "gap": self.gap, "statistic": self.statistic}
        last = {
            "proved": self.proved,
            "message": self.message,
            "weights": self.weights.tolist(),
            "shortlist": {**vars(self.shortlist), "constant_features": list(self.shortlist.constant_features)},
            "seconds": dict(self.seconds),
            "model_size": None if self.model_size is None else dict(self.model_size),
            "notes": [str(note) for note in self.notes],
            "left_out": list(self.left_out),
        }
        last |= {} if self.evidence is None else {"evidence": self.evidence.to_dict()}
        if self.statistic_bound is not None:  # beside what it bounds
            first["statistic_bound"] = self.statistic_bound
        elsewhere = {*first, *last, "certificate", "proof", "evidence", "said", "history", "asked"}
        elsewhere |= {"ties"} if self.ties == "pessimistic" else set()
        elsewhere |= {"statistic_bound"} if self.statistic_bound is None else set()
        return first | {name: value for name, value in vars(self).items() if name not in elsewhere} | last
