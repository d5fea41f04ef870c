"""Files that are written whole or not at all, and what stops a writer half-way."""
