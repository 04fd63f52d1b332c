"""TopPush: the estimator, its solvers and certificates."""
