"""The files that a trainer runs are those that the syntax tree finds: results of older code do not count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layout.graphs import python_imports
from pyharness.features.training import trainers
from pyharness.features.training.recipe import Recipe, code_digest
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


def test_a_trainer_of_a_stranger_counts_with_our_part_that_has_a_public_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stranger.py").write_text("from pyharness.trainers import Options, TrainerSpec\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    stranger = replace(trainers.resolve("bpe"), train="stranger:train")
    codes = []
    for addition in (b"", b"# another rule\n"):
        monkeypatch.setattr(Path, "read_bytes", lambda path, more=addition: more * (path.name == "options.py"))
        code_digest.cache_clear()
        codes.append(Recipe(stranger, "sample").as_json()["code"])
    code_digest.cache_clear()
    assert codes[0] != codes[1]
