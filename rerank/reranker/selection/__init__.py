"""Chooses the options of a fit by held-out rows."""
