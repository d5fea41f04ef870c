"""From rounds to judgements, with the declared changes of ``gate.toml``."""
