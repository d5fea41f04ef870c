"""Engines: other implementations that run an existing vocabulary."""
