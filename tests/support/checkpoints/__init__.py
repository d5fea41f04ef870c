"""Checkpoints of language models, and what an adaptation makes of them."""
