"""Slow references of codecs of actions."""
