"""The parameters of a card, each written once: its name, its kind and its default."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from numpy.typing import ArrayLike

from rerank.scorecard.questions import Question
from rerank.statistics import RankStatistic

Asked = str | Question | Sequence[str | Question]  # a question or a column, or several
Sets = Asked | Sequence[Sequence[str | Question]]  # a set of them, or several
Weights = Mapping[Any, float] | ArrayLike | None  # of lists
Points = int | Sequence[int]  # R for -R to R, a pair of ends, or the numbers


@dataclass(eq=False, repr=False)
class CardOptions:
    """What is asked of a card; :class:`rerank.scorecard.Scorecard` says what it means."""

    stat: str | RankStatistic = "auc"
    n_questions: int = 4
    points: Points = 5
    _: KW_ONLY
    thresholds: str | int | Mapping[str, Iterable[float]] = "quantiles"
    max_levels: int = 10
    max_columns: int | None = None
    one_per_column: bool | str = False
    signs: Mapping[Any, int] | None = None
    bounds: Mapping[Any, Points] | None = None
    must: Asked = ()
    never: Asked = ()
    at_least_one: Sets = ()
    not_both: Sets = ()
    together: Sets = ()
    constraints: str | Sequence[str] = ()
    cut: str | float | None = None
    validation: int | str | None = 5
    time_limit: float | None = 60.0
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    pos_label: Any = None
    max_total: int | None = None
    class_weight: Mapping[Any, float] | str | None = None
    both_ways: bool | str = "gaps"
    ranges: bool = False
    groups: bool = False
    min_rows: float = 0
    special: Mapping[str, Sequence[Any]] | None = None
