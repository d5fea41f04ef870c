"""Workflows of GitHub as they would run there, on this machine: for tests and ``.ci/play_workflows``."""
