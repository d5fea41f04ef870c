"""Rank files and what they need beside themselves."""
