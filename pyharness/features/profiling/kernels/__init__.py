"""One profile per kernel, with the libraries that people use instead."""
