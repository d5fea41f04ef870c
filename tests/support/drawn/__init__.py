"""Charts and pages, and records that they are made of."""
