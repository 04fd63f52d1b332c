"""Products of tables and vectors, and descent, for all scorers."""
