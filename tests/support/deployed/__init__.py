"""GGUF files and chat templates for tests."""
