"""Analysis of models: the tokens that they can and cannot produce."""
