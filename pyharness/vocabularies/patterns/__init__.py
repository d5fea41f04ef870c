"""Split patterns: the published ones, and a compiler of others to deterministic automata and tables."""
