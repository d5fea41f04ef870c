"""One profile per kernel, and what people call today instead."""
