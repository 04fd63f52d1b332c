"""The compiled steps of training: they take arrays and numbers, and know neither models nor logs."""
