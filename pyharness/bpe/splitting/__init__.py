"""Texts to pieces that BPE never merges across."""
