"""Sets of pairs, or of rows, that no weights put in the right order, and the bounds that follow."""
