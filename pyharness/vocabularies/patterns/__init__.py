"""Split patterns: published ones, and any other parsed, made deterministic and laid out as tables."""
