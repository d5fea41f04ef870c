"""Plug-ins: how they are found, picked and named."""
