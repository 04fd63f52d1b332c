"""Methods that change the multipliers of all negatives: for every threshold, many lists and many active cuts."""
