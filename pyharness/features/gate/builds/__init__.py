"""Two arms from two names: resolved, built, installed, and equal in everything but the library under test."""
