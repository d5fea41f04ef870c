"""What an arm is, for those who start its processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyharness.features.gate.types import Side


@dataclass(frozen=True, slots=True)
class Arm:
    """One side, ready to be started. Paths and variables of the two sides have the same lengths."""

    side: Side
    source: str  # as it was asked for
    version: str  # of what is under test: a commit, a version, a digest
    python: Path  # interpreter that has it
    folder: Path  # working folder of its processes
    variables: Mapping[str, str]  # all of the environment of its processes
    under_test: str  # distribution that the two sides may differ in; "" where two tokenizers of one environment are
    tokenizer: str | None = None  # specification, where two tokenizers are compared
