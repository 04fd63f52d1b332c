"""The first stages measured: TopPush, RankSVM and RoBiRank, each beside other programs."""
