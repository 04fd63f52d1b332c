"""Parts of the checker of proofs (rationals, pairs, tree, leaves, vertices), none of them shared with the search."""
