"""A BPE tokenizer as data, and whether it agrees with itself."""
