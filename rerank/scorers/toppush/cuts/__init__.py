"""TopPush against the largest negative: cutting planes."""
