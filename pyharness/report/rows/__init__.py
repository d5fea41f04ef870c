"""Rows of tables: what tells their cases apart, and which of them were trained on what they have read."""
