"""Processes of an arm: files that its interpreter runs, and their parent's side of the pipe."""
