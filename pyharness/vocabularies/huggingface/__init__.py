"""tokenizer.json files as data."""
