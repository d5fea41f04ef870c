"""What the integrity benchmark checks: round trips, and ids against those of another row."""
