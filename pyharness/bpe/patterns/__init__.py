"""Split patterns as tables that the native core runs: parsed, made deterministic, checked."""

from pyharness.bpe.patterns.syntax import Dialect, Unsupported
from pyharness.bpe.patterns.tables import SplitTable, compiled

__all__ = ["Dialect", "SplitTable", "Unsupported", "compiled"]
