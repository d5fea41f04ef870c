"""Pure functions from rounds to judgements."""
