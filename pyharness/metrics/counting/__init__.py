"""What one pass over a corpus counts: integers, from which metrics are computed."""
