"""Files to documents: compression, encodings, JSON Lines, Parquet."""
