"""Suites: TOML -> Suite -> Cases. A suite names tokenizers, corpora and benchmarks; its cases are their product."""

from pyharness.suite.declaration import Entry, Selection, Suite, benchmark, cut, entries, named, override, selections
from pyharness.suite.files import DEFAULT, declare, find, read, shipped, summary_of
from pyharness.suite.plans import Plan, plan, powers_of_two

__all__ = [
    "DEFAULT", "Entry", "Plan", "Selection", "Suite", "benchmark", "cut", "declare", "entries", "find",
    "named", "override", "plan", "powers_of_two", "read", "selections", "shipped", "summary_of",
]  # fmt: skip
