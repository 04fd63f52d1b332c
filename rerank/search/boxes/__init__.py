"""Branch and bound over boxes of weights."""
