"""What profiles run on: a processor or a CUDA device."""
