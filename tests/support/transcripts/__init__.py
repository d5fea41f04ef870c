"""What transcripts are made with: a job, and a terminal."""
