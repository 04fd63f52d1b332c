"""Which features may carry weight: the supports, and those that cannot win."""
