"""Counts of adjacent pairs, and of single ids."""
