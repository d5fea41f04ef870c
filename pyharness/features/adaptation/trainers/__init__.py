"""Trainers that add or remove a tokenizer's tokens. They write the original file, edited."""
