"""Suites: TOML -> Suite -> Cases. A suite names tokenizers, corpora and benchmarks; its cases are their product."""

from pyharness.suite.declaration import Entry, Selection, Suite, cut, entries, named, override, selections
from pyharness.suite.files import DEFAULT, find, memory_limit, read, shipped, summary_of
from pyharness.suite.plans import Plan, plan, powers_of_two

__all__ = [
    "DEFAULT", "Entry", "Plan", "Selection", "Suite", "cut", "entries", "find", "memory_limit", "named", "override",
    "plan", "powers_of_two", "read", "selections", "shipped", "summary_of",
]  # fmt: skip
