"""Models of what symbol comes next: counts of n-grams over ids, their entropies, and files of them."""

from __future__ import annotations

from pyharness.symbol_models.file_format import HIGHEST_ORDER
from pyharness.symbol_models.model import Scores, SymbolIds, SymbolModel

__all__ = ["HIGHEST_ORDER", "Scores", "SymbolIds", "SymbolModel"]
