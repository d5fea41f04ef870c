"""A BPE tokenizer as data, and checks of its consistency."""
