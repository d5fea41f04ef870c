"""Suites: TOML -> Suite -> Cases. A suite names tokenizers, corpora and benchmarks; its cases are their product."""

from pyharness.suite.declaration import Entry, Selection, Suite, entries, selections
from pyharness.suite.naming import named
from pyharness.suite.overriding import cut, override
from pyharness.suite.parameters import powers_of_two
from pyharness.suite.planning import Plan, plan
from pyharness.suite.reading import DEFAULT, find, memory_limit, read, shipped, summary_of

__all__ = [
    "DEFAULT",
    "Entry",
    "Plan",
    "Selection",
    "Suite",
    "cut",
    "entries",
    "find",
    "memory_limit",
    "named",
    "override",
    "plan",
    "powers_of_two",
    "read",
    "selections",
    "shipped",
    "summary_of",
]
