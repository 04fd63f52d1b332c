"""First stages of plain tables, for tests."""

from rerank.reranker.columns import columns_of
from rerank.reranker.first_stage import fit_first_stage


def fit_stage(first_stage, X, y, *rest, **options):
    """The fitted first stage of a table."""
    return fit_first_stage(first_stage, columns_of(X), y, *rest, **options)[0]


def stage_scores(stage, X):
    """Its scores of the rows of a table."""
    return stage.scores(columns_of(X))
