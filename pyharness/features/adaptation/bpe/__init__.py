"""Vocabularies that grow and shrink: what to learn and what to drop, and the edited file read again and compared."""
