"""The files that a trainer runs are those that the syntax tree finds: results of older code do not count."""

from __future__ import annotations

from pathlib import Path

import pytest

from layout.graphs import python_imports
from pyharness.features.training import trainers
from pyharness.plugins.closure import import_closure

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["bpe", "unigram", "rustbpe"])
def test_trainers_have_the_closure_that_the_syntax_tree_has(name: str) -> None:
    graph = python_imports(ROOT)
    module = trainers.resolve(name).module
    expected, waiting = set[str](), [module]
    while waiting:
        one = waiting.pop()
        if one not in expected and one != "pyharness":
            expected.add(one)
            waiting += [*graph.get(one, ()), one.rpartition(".")[0]]
    expected.discard("pyharness._cuda")  # loaded by its name, where somebody asks for a device: no import
    assert set(import_closure(module, "pyharness")) == expected
    assert len(expected) > 20
