"""Vocabularies that grow and shrink: pure work on models, no files."""
