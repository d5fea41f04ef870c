"""The work of several commands, callable from Python."""
