"""Split patterns examined: parsed, their characters sorted into classes, and run as finite automata over those."""
