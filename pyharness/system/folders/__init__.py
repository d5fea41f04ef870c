"""Folders of this user: the home that ``~`` names, and where we keep what would take long to make again."""
