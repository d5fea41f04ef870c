"""References for what servers meet."""
