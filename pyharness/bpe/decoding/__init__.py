"""Ids to texts, and where tokens stand in them."""
