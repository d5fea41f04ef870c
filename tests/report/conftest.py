"""A run of two rows that the tests of reports show, compare and edit."""

from __future__ import annotations

import pytest

import pyharness
from pyharness.commands import session

BENCHMARKS = ["compression", "fairness", "reachability", "throughput", "latency", "load"]


@pytest.fixture(scope="session")
def result() -> session.Result:
    return pyharness.run(tokenizers=["raw_bytes", "mistral:v3"], corpora=["sample"], benchmarks=BENCHMARKS)
