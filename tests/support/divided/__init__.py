"""Runs in parts: small suites over files, and the comparison of two records to the last bit."""
