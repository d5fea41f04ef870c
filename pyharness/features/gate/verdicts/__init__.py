"""From rounds to judgements: pure functions."""
