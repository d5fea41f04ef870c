"""Our own model files, ``format: pyharness-bpe``."""
