"""What a model can and cannot produce."""
