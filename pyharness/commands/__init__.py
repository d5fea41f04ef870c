"""What a command does, callable from Python."""
