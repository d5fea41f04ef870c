"""The operating system: child processes, files, environment, clocks, network. Knows nothing of tokenizers."""
