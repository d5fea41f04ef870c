"""What the files of tokenizers say: readers that trust nothing, vocabularies, merge rules. Runs no tokenizer."""
