"""The loop of a run: schedule, workers, verification, measuring, recording."""
