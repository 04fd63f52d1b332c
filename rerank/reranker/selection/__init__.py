"""Choosing the options of a fit by rows held out."""
