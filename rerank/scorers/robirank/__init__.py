"""RoBiRank over features: the estimator and the kernels of its sums over pairs."""
