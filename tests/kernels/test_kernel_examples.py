"""The worked examples in the docstrings of the public functions run and say what they say."""

from __future__ import annotations

import doctest
import sys

import pytest

from pyharness import kernels


@pytest.mark.parametrize("name", kernels.__all__)
def test_example(name: str) -> None:
    thing = getattr(kernels, name)
    module = sys.modules[thing.__module__]
    (example,) = doctest.DocTestFinder(recurse=False).find(thing, name, globs=vars(module).copy())
    assert example.examples, f"{name} has no worked example"
    assert doctest.DocTestRunner().run(example).failed == 0
