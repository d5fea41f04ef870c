"""Rounds in launches: their plan, their order, and their end."""
