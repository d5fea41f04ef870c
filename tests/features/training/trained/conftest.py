"""A cache of its own for every test."""

from __future__ import annotations

from cases.trained_rows import cache as cache
from cases.trained_rows import in_process as in_process
from cases.trained_rows import text as text
