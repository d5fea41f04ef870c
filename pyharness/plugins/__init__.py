"""Plug-ins: discovery, the grammar of specifications, and optional libraries."""
