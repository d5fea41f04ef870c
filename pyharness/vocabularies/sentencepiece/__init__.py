"""SentencePiece models as data."""
