"""Editors of tokenizer files of all formats, which add or remove tokens of the original."""
