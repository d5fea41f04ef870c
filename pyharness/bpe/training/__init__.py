"""Training: pieces of a corpus, merges, and the tokenizer they give."""
