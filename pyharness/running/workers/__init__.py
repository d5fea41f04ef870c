"""Processes that run cases: the parent asks, a worker answers, and both check the messages."""
