"""A fault counts as named only if its own check fails by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from audited.damage import Damage
from audited.damaged_folders import GoodFolder
from damaged_copies import trials
from tokenizer_files import byte_level, write

LOADS = ("embedding too small", "missing merge")  # the second one is in the tokenizer's file


def test_planted_faults_are_named_and_one_that_is_not_there_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = {**byte_level(), "truncation": None, "padding": None, "post_processor": None}
    write(tmp_path, "tokenizer.json", content)
    good = GoodFolder.of(tmp_path / "tokenizer.json", tmp_path / "good")
    planted = dict(good.faults())
    assert len(planted) >= 30
    some = {kind: planted[kind] for kind in LOADS}
    wrong = {"of another name": Damage(some[LOADS[0]].files, "specials", "files disagree"),
             "of no file": Damage(good.files, some[LOADS[1]].check, some[LOADS[1]].fault)}  # fmt: skip
    monkeypatch.setattr(GoodFolder, "faults", lambda _: iter((some | wrong).items()))
    done = trials("made", good, tmp_path)
    assert (done.planted, done.missed, done.false) == (4, [*wrong], [])
