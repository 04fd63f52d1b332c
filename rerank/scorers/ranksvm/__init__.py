"""RankSVM: pairwise hinge losses in time that grows with the rows, not with the pairs."""
