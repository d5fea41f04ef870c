"""Counts of one pass over a corpus: integers, from which metrics are computed."""
