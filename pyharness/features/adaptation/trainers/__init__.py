"""Trainers that change a tokenizer: it gains tokens, or loses some. What they write is the original file, edited."""
