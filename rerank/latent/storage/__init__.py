"""Models and checkpoints on disk: a folder holds one whole state at any time, and one process writes to it."""
