"""Metrics of units, as functions of their ends: lengths, cuts of words and numbers, and stability."""
