"""The process that has read the only part of a text adds it up without restoring it from its file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pyharness import tokenizers
from pyharness.benchmarks import Work, benchmarks
from pyharness.benchmarks.compression import CorpusPass
from pyharness.corpora import open_corpus
from pyharness.corpora.parts import part_name
from pyharness.running.workers import parts
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import Case, InputError, State


class Restored(Exception):
    """A pass was made from its file."""


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    def restore(self: CorpusPass, arrays: State) -> None:
        raise Restored

    monkeypatch.setattr(CorpusPass, "restore", restore)
    rows = [json.dumps({"text": f"line {number}"}) + "\n" for number in range(20)]
    (tmp_path / "a.jsonl").write_text("".join(rows), encoding="utf-8")
    return f"path:{tmp_path / 'a.jsonl'}"


def work(corpus: str) -> Work:
    return Work(
        Case("compression", "raw_bytes", "text", {}), tokenizers.resolve("raw_bytes"), RawBytes, open_corpus(corpus), 1
    )


def test_the_only_part_is_not_restored(text: str, tmp_path: Path) -> None:
    benchmark, path = benchmarks()["compression"], tmp_path / "0.part.zip"
    parts.read(benchmark, work(part_name(text, 0, 1)), path)
    summed, whole = parts.added_up(benchmark, work(text), [str(path)]), benchmark.run(work(text))
    assert summed.measurements == whole.measurements
    assert summed.details == whole.details
    assert summed.tally == whole.tally
    with pytest.raises(Restored):  # once
        parts.added_up(benchmark, work(text), [str(path)])


def test_the_only_part_of_a_text_that_changed_is_refused(text: str, tmp_path: Path) -> None:
    benchmark, path = benchmarks()["compression"], tmp_path / "0.part.zip"
    parts.read(benchmark, work(part_name(text, 0, 1)), path)
    Path(text.removeprefix("path:")).write_text('{"text": "other"}\n', encoding="utf-8")
    with pytest.raises(InputError, match="other files"):
        parts.added_up(benchmark, work(text), [str(path)])


def test_a_pass_needs_no_file_and_a_missing_file_without_one_is_named(text: str, tmp_path: Path) -> None:
    benchmark, path = benchmarks()["compression"], tmp_path / "0.part.zip"
    parts.read(benchmark, work(part_name(text, 0, 1)), path)
    path.unlink()
    parts.added_up(benchmark, work(text), [str(path)])
    with pytest.raises(InputError, match=re.escape(str(path))):
        parts.added_up(benchmark, work(text), [str(path)])


def test_one_of_several_parts_is_restored(text: str, tmp_path: Path) -> None:
    benchmark, path = benchmarks()["compression"], tmp_path / "0.part.zip"
    parts.read(benchmark, work(part_name(text, 0, 2)), path)
    with pytest.raises(Restored):
        parts.added_up(benchmark, work(text), [str(path), ""])
