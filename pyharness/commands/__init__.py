"""The work of each command, callable from Python."""
