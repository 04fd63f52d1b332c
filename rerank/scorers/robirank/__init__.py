"""RoBiRank: a robust bound of DCG whose sums over pairs are never stored."""
