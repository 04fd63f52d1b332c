"""Files of fitted models: write, export, read back and verify them."""
