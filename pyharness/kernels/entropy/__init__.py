"""Next-token entropy of logits, and of hidden states."""
