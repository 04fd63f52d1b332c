"""TopPush: the problem, what may be found of it, and which of two methods solves it."""
