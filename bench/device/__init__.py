"""The check on a machine with a GPU: its stages, what they leave, and their summary. Standard library only."""
