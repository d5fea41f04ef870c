"""Two arms from two names: resolved, built, installed, and as equal as possible but for the library under test."""
