"""TopPush: its problem, its two estimators, and two kinds of methods that do not import each other."""
