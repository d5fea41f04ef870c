"""Stand-ins of servers on the loopback address: of S3 and the web, of Google Cloud Storage, of a Hub."""
