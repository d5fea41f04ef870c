"""Statistics: intervals of counts and of timings."""
