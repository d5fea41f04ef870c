"""Journals that are damaged, too long, or something else than a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pyharness import store
from pyharness.store import journal
from pyharness.types import InputError


@pytest.mark.parametrize(
    "damage",
    ['{"n": ' + "[" * 100_000 + "]" * 100_000 + "}", '{"n": NaN}', '{"n": "' + "x" * 3000 + '"}', "[1]", "[],"],
)
def test_a_journal_ends_where_it_is_damaged_or_too_long(
    tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "record.json"
    with store.Journal(record) as one:
        one.start({"suite": "a"}, resume=False)
        one.add({"n": 1})
    path = journal.journal_of(record)
    path.write_text(f'{path.read_text("utf-8")}{damage}\n{{"n": 3}}\n', "utf-8")
    monkeypatch.setattr(journal, "MOST_BYTES", 2000 if "x" in damage else 1 << 20)
    assert not store.finished_cases(record, {"suite": "a"}, resume=True)
    with store.Journal(record) as again:
        assert again.start({"suite": "a"}, resume=True) == [{"n": 1}]
        again.add({"n": 2})
    assert [json.loads(line) for line in path.read_text("utf-8").splitlines()[1:]] == [{"n": 1}, {"n": 2}]


def test_a_journal_of_too_many_values_ends_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MOST_VALUES", 1000)
    (tmp_path / "record.json.journal").write_text(
        '{"header": {"suite": "a"}}\n' + f'{{"n": {[1] * 600}}}\n' * 2, "utf-8"
    )
    with store.Journal(tmp_path / "record.json") as one:
        assert len(one.start({"suite": "a"}, resume=True)) == 1


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_stands_in_the_place_of_a_journal_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "record.json.journal"
    os.mkfifo(path) if kind == "fifo" else path.mkdir()
    with pytest.raises(InputError, match="cannot write"):
        store.Journal(tmp_path / "record.json")
    assert not store.finished_cases(tmp_path / "record.json", {"suite": "a"}, resume=True)
