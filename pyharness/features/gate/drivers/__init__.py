"""Processes of an arm: files that its interpreter runs, and the side of those who ask them."""
