"""Contents of tokenizer files: readers that trust nothing, vocabularies, merge rules. Runs no tokenizer."""
