"""Does reranking help on rows to come? Ten tables, two first stages, three statistics, fixed beforehand."""
