"""Arms of a gate, and what they are asked."""
