"""Two arms of two names: what each is, built, installed, and alike in all but what is under test."""
