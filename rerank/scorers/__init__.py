"""First stages as scikit-learn estimators; :class:`rerank.Reranker` looks here for them by name."""
