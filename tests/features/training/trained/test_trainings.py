"""Trainings one after another in one process, and side by side: each is as if it were made alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from adapted.bases import NEW, write_base
from cases.trained_rows import row
from pyharness import suite, tokenizers
from pyharness.features.training import training_process
from pyharness.system.child_process import Child, PreparationLane
from pyharness.types import InputError


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Processes that were started to train in."""
    made: list[int] = []

    class Counted(Child):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            made.append(self.process.pid)

    monkeypatch.setattr(training_process, "Child", Counted)
    return made


def content(spec: str) -> bytes:
    path = tokenizers.obtain(spec).path
    assert path is not None
    return Path(path).read_bytes()


def test_one_process_trains_what_several_do(
    text: Path, cache: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [row(text), row(text, "bpe"), row(text, "tokenizers-bpe", 265)]
    with PreparationLane().used():
        together = [content(spec) for spec in rows]
    assert len(started) == 1
    monkeypatch.setenv("PYHARNESS_CACHE", str(cache / "other"))
    assert [content(spec) for spec in rows] == together
    assert len(started) == 4


@pytest.mark.parametrize("ends", ["os.abort()", "refuse()"])
def test_what_fails_after_another_training_is_tried_alone(
    text: Path, tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    """Of three trainings that a process survives one of, all are made."""
    source = (
        "import os, sys\n"
        "if 'pytest' not in sys.modules:\n"
        "    from pyharness.features.training.trainers import huggingface as it\n"
        "    train, done = it._train, []\n"
        "    def refuse(): raise it.InputError('too many open files')\n"
        f"    it._train = lambda *given: ({ends} if done else done.append(1)) or train(*given)\n"
        "TRAINERS = ()\n"
    )
    (tmp_path / "intruder.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("PYHARNESS_PLUGINS", "intruder")
    with PreparationLane().used():
        assert all(tokenizers.obtain(row(text, "tokenizers-bpe", size)).path for size in (265, 268, 270))
    assert len(started) == 3


def test_rows_of_a_suite_are_trained_side_by_side(tmp_path: Path, cache: Path, started: list[int]) -> None:
    base, text = write_base(tmp_path), tmp_path / "new.txt"
    text.write_text("\n".join(NEW), encoding="utf-8")
    made = [
        f"trained:{trainer}?base={base}&tokens={size}&corpus=path:{text}"
        for size in (5, 10, 20)
        for trainer in ("continued-bpe", "naive-extension")
    ]
    found = []
    for workers in (1, 2):
        cache_of = cache / str(workers)
        path = tmp_path / f"{workers}.toml"
        path.write_text(
            f'tokenizers = {json.dumps(made)}\ncorpora = ["sample:prose"]\nbenchmarks = ["compression"]\n'
            f"workers = {workers}\n",
            encoding="utf-8",
        )
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("PYHARNESS_CACHE", str(cache_of))
            rows = suite.plan(suite.read(path)).tokenizers
        assert list(rows) == made
        found.append([Path(spec.path or "").read_bytes() for spec in rows.values()])
    assert found[0] == found[1]
    assert len(started) == 4, "one for what is learnt once, twice"


def test_all_that_is_wrong_with_rows_is_said_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'tokenizers = ["nosuch", "raw_bytes", "other"]\nbenchmarks = ["load"]\nworkers = 2\n', encoding="utf-8"
    )
    with pytest.raises(InputError) as refused:
        suite.plan(suite.read(path))
    assert [line.split("'")[1] for line in str(refused.value).splitlines()] == ["nosuch", "other"]
