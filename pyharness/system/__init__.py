"""The operating system: child processes, files, environment, clocks, network. Imports no code about tokenizers."""
