"""Long lists: one interval a row instead of one a pair, for lines and for boxes."""
