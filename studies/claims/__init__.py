"""Claims of articles that a number can test: one module a claim, which prints a figure, an interval and a verdict."""
