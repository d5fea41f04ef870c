"""Changes planted in tokenizer files, for tests of audits."""
