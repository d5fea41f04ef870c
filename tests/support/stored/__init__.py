"""A stand-in of a server of S3, and of a web server, on the loopback address."""
