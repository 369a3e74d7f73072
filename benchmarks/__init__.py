"""Measure this package and the reference side by side."""
