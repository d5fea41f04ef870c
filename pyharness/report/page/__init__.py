"""The report as one HTML file: what is said of a record, in sections, with charts and the numbers of each."""
