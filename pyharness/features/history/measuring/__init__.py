"""Gates that a history asks for: of revisions that are missing, of what is suspected, and of halves of a range."""
