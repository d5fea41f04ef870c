"""Growing and shrinking vocabularies: tokens to learn and to drop, and the check of the edited file."""
