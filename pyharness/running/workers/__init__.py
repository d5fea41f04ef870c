"""Processes that cases run in: asked by the parent, answering by messages that both sides check."""
