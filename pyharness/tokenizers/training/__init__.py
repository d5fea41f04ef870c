"""Rows that are trained first: recipe, process, cache."""
