"""Records whose rows are ranked."""
