"""Model files: import and export of other libraries' formats, and our own format."""
