"""Datasets, repeated corpora, and real corpora."""

from __future__ import annotations

import json
import lzma
import os
import re
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pyharness.corpora import open_corpus
from pyharness.types import ParallelCorpus, Tally
from texts import parallel, read, write


class FakeDatasets(ModuleType):
    """Stands for the library: records how it was called."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        super().__init__("datasets")
        self.rows, self.calls = rows, list[Any]()

    def load_dataset(self, *names: Any, **options: Any) -> Iterable[dict[str, Any]]:
        self.calls.append((names, options))
        return self.rows


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = f"http://127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        monkeypatch.setenv("no_proxy", "*")
        for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
            monkeypatch.delenv(name, raising=False)
        yield endpoint


def test_datasets_are_streamed_without_their_code(hub: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeDatasets([{"body": "one"}, {"body": None}, {"body": "\ud800"}])
    monkeypatch.setitem(sys.modules, "datasets", fake)
    texts, tally = read("datasets:org/name?config=en&split=test&field=body&revision=abc")
    assert texts == ["one", "\ufffd"]
    assert (tally.empty_documents, tally.replaced_sequences) == (1, 1)
    options = {"split": "test", "streaming": True, "trust_remote_code": False, "revision": "abc"}
    assert fake.calls == [(("org/name", "en"), options)]


def test_local_datasets_need_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeDatasets([{"text": "one"}])
    monkeypatch.setitem(sys.modules, "datasets", fake)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    write(tmp_path / "rows.jsonl", "")
    assert read(f"datasets:{tmp_path}")[0] == ["one"]
    assert read(f"datasets:{tmp_path}/rows.jsonl")[0] == ["one"]
    common = {"split": "train", "streaming": True, "trust_remote_code": False}
    assert fake.calls == [
        ((str(tmp_path), None), {**common, "revision": None}),
        (("json",), {**common, "data_files": f"{tmp_path}/rows.jsonl"}),
    ]


@pytest.mark.parametrize("several", [False, True])
def test_datasets_saved_to_disk(several: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = FakeDatasets([])
    rows = [{"text": "saved"}]
    monkeypatch.setattr(fake, "load_from_disk", lambda _: {"train": rows} if several else rows, raising=False)
    monkeypatch.setitem(sys.modules, "datasets", fake)
    write(tmp_path / ("dataset_dict.json" if several else "state.json"), "{}")
    assert read(f"datasets:{tmp_path}")[0] == ["saved"]


def test_repeat_streams_the_same_again(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", b"one\n\ntw\xffo")
    texts, tally = read(f"repeat:3:path:{file}?split=line")
    assert texts == ["one", "tw\ufffdo"] * 3
    assert (tally.empty_documents, tally.replaced_sequences) == (3, 3)
    assert read(f"repeat:2:repeat:2:path:{file}")[0] == [file.read_bytes().decode(errors="replace")] * 4


def test_repeat_of_a_billion_starts_at_once_and_is_not_aligned() -> None:
    corpus = open_corpus("repeat:1000000000:sample")
    assert next(corpus.documents(Tally()))
    assert corpus.smoke_test
    assert not isinstance(corpus, ParallelCorpus)


DATA = Path(os.environ.get("PYHARNESS_DATA", ".")) / "corpora"


def real(test: Callable[[], None]) -> Callable[[], None]:
    reason = "PYHARNESS_DATA does not name the real corpora"
    marks = (pytest.mark.data, pytest.mark.skipif("PYHARNESS_DATA" not in os.environ, reason=reason))
    for mark in marks:
        test = mark(test)
    return test


@real
def test_real_json_lines() -> None:
    texts, tally = read(f"path:{DATA}/code/python.jsonl.xz")
    assert (len(texts), tally.replaced_sequences, tally.empty_documents) == (154, 0, 0)
    with lzma.open(DATA / "code/python.jsonl.xz", "rt", encoding="utf-8") as file:
        assert texts == [json.loads(line)["text"] for line in file]


@real
def test_real_paragraphs() -> None:
    texts, _ = read(f"path:{DATA}/english/tinyshakespeare.txt.xz?split=paragraph")
    with lzma.open(DATA / "english/tinyshakespeare.txt.xz", "rt", encoding="utf-8", newline="") as file:
        assert texts == re.split("\n{2,}", file.read().strip("\n"))
    assert len(texts) == 5777


@real
def test_real_flores() -> None:
    corpus = parallel(f"parallel:{DATA}/parallel/flores200")
    assert len(corpus.languages) == 178
    tally = Tally()
    assert sum(1 for _ in corpus.rows(tally)) == 1548
    assert tally == Tally()


@real
def test_real_parallel_json_lines() -> None:
    corpus = parallel(f"parallel:{DATA}/parallel/xquad.jsonl.xz")
    assert corpus.languages == ("ar", "de", "el", "en", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
    assert sum(1 for _ in corpus.rows(Tally())) == 195
