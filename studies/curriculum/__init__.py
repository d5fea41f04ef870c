"""A vocabulary that grows with its model: what of the published slopes, and of the growth, a small machine can test."""
