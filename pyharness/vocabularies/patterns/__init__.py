"""Split patterns as tables that the native core runs: parsed, made deterministic, checked."""

from pyharness.vocabularies.patterns.syntax import Dialect, Unsupported
from pyharness.vocabularies.patterns.tables import SplitTable, compiled

__all__ = ["Dialect", "SplitTable", "Unsupported", "compiled"]
