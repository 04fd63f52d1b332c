"""TopPush: its problem, and two kinds of methods that do not import each other."""
