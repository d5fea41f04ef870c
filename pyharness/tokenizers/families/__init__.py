"""Tokenizers by name: files, installed packages, hubs, trainings, and the libraries that run them."""
