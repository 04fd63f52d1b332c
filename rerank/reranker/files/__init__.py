"""Fitted models as files: written, exported, read back and verified."""
