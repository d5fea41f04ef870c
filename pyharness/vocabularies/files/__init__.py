"""Common parts of the readers of vocabulary files."""
