"""TopPush against thresholds that average negatives: multipliers."""
