"""What readers of every kind of vocabulary file share."""
