"""Texts over the characters that split patterns tell apart."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from published_patterns import EXPRESSIONS
from pyharness.vocabularies.patterns.tables import SplitTable, compiled

LETTERS = st.sampled_from("aabbAB  \n\n\r'ss11SK中é.ſ\u0301_-")


@cache
def table_of(name: str) -> SplitTable:
    return compiled(*EXPRESSIONS[name])
