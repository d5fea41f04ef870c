"""Patches that start where the next byte is hard to predict: the rule, what predicts, and how a threshold is found."""
