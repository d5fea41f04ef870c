"""Statistics: intervals of what was counted and of what was timed."""
