"""RankSVM: the estimator, its solvers and the sums over pairs."""
