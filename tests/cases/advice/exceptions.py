"""Texts that look like advice, and rooms that give advice of a kind which no row follows."""

NO_ADVICE = {
    ", free weights",
    "'weights' are of size 2^20 at most, or correct a score of weight 1",
    "Lower bound:\\s+(\\S+)",
    "lower left",
    "lower right",
}

# A room and a kind, with the reason why no row follows them.
NOT_FOLLOWED = {
    ("errors", "ask for more"): "needs a process that can write no folder; tests/search/test_compile.py has one",
    ("latent", "correct"): "needs a cluster that loses its workers",
    ("scorecard", "ask for more"): "needs a search that ends before its first card, which small tables give at once",
}
