"""Training: pieces of a corpus, merges, and the resulting tokenizer."""
