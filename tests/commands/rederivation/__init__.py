"""Records with states, derived again."""
