"""Benchmarks of a row beside another that is made or trained for the comparison, on the same text."""
