"""Every public name of ``pyharness.bpe`` has a worked example, and the examples are true."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path

import numpy as np
import pytest

from pyharness import bpe

FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
NAMES = [name for name in bpe.__all__ if inspect.isclass(getattr(bpe, name)) or inspect.isfunction(getattr(bpe, name))]


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # examples write files
    (example,) = doctest.DocTestFinder(recurse=False).find(getattr(bpe, name), name)
    assert example.examples, f"{name} has no example"
    example.globs = {"np": np} | {key: getattr(bpe, key) for key in bpe.__all__}
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    printed: list[str] = []
    runner.run(example, out=printed.append)
    assert runner.failures == 0, "".join(printed)
