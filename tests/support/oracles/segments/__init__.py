"""Slow references of units that are no tokens."""
