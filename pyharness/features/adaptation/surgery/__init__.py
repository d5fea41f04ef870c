"""Changes the vocabulary of a language model: plans what becomes of each row, and writes a checkpoint by the plan."""
