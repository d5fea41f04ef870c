"""Rounds in launches: what is measured, in which order, and until when."""
