"""Adapted models, as tests make them in memory."""
