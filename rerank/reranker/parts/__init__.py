"""Fits and rankings of a list that comes in parts, because no memory holds it."""
