"""What cuts texts into units that are no tokens: patches, sentences, words, characters. One module per kind."""
