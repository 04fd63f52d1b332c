"""Methods that improve multipliers of all negatives at once, for any threshold and many active cuts."""
