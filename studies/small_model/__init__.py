"""What an extended tokenizer does to a small model: bits per byte before, right after surgery, and after training."""
