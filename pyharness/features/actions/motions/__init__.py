"""Clips of motion: a kind of corpus whose documents are chunks of frames."""
