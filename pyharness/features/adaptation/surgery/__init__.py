"""Changes the vocabulary of a language model: plans the new rows, and writes a checkpoint by the plan."""
