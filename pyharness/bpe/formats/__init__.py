"""Model files: those of other libraries in and out, and our own."""
