"""Newton steps under cuts, for the largest negative as threshold; knows nothing of the other room."""
