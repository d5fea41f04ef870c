"""Editing tokenizer files: the original with some tokens more or fewer, whatever its format."""
