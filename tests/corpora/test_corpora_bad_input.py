"""Corpora that cannot be read: the error names the thing, what is known and the next step."""

from __future__ import annotations

import gzip
import os
import socket
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pyharness.corpora import open_corpus, read
from pyharness.corpora.shards import shard
from pyharness.system import network
from pyharness.types import InputError, ParallelCorpus, Tally
from texts import failure, has, refusal, write

pa: Any = pytest.importorskip("pyarrow")
pq: Any = pytest.importorskip("pyarrow.parquet")

# -------------------------------------------------------------------------------- specifications


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("", ["unknown corpus ''", "pyharness list corpora"]),
        ("smple:prose", ["'smple'", "did you mean 'sample'"]),
        ("zzzz", ["'zzzz'", "pyharness list corpora"]),
        ("sample:pros", ["sample 'pros'", "'prose'"]),
        ("sample?split=line", ["sample option 'split'", "max_bytes"]),
        ("sample:code?languages=eng_Latn", ["languages=", "sample:parallel"]),
        ("sample?languages=eng_Latin", ["language 'eng_Latin'", "'eng_Latn'"]),
        ("sample?languages=eng_Latn,eng_Latn", ["twice"]),
        (
            "sample?languages=deu_Latn&reference=eng_Latn",
            ["reference=eng_Latn", "languages=deu_Latn"],
        ),
        ("sample?reference=eng", ["reference language 'eng'", "eng_Latn"]),
        ("installed:python", ["'python'", "python-code"]),
        ("installed", ["''", "python-code, python-docs"]),
        ("installed:python-code?feild=x", ["installed option 'feild'", "known"]),
        ("installed:python-code?max_bytes=2MB&max_bytes=3MB", ["max_bytes=", "twice"]),
        ("installed:python-code?max_bytes=lots", ["max_bytes=lots", "MiB"]),
        ("installed:python-code?max_bytes=2XB", ["max_bytes=2XB", "2MB"]),
        ("installed:python-code?max_bytes=0", ["max_bytes=0", "at least 1"]),
        ("installed:python-code?max_bytes=-1", ["max_bytes=-1"]),
        ("installed:python-code?max_bytes=", ["max_bytes=", "2MB"]),
        ("installed:python-code?max_document_bytes=3", ["max_document_bytes=3", "at least 4"]),
        ("installed:python-code?language=", ["language=", "no value"]),
        ("path", ["path:FILE"]),
        ("path:x?splt=line", ["path option 'splt'", "'split'"]),
        ("path:x?split=lines", ["split=", "'lines'", "'line'"]),
        ("parallel:", ["names nothing", "parallel:DIRECTORY"]),
        ("parallel:nowhere", ["'nowhere'", "check"]),
        ("datasets:", ["datasets:ORG/"]),
        ("datasets:a/b/c", ["'datasets:a/b/c'", "datasets:ORG/"]),
        ("datasets:./nowhere", ["'nowhere'"]),
        ("repeat", ["repeat:N:"]),
        ("repeat:0:sample", ["1 to 10^9"]),
        ("repeat:1000000001:sample", ["1 to 10^9"]),
        ("repeat:x:sample", ["repeat:N:"]),
        ("repeat:2:smple", ["unknown corpus 'smple'"]),
        ("repeat:2:sample?split=line", ["sample option 'split'"]),
        ("shard:0:sample", ["INDEX/COUNT"]),
        ("shard:4/4:sample", ["no shard 4 of 4", "0 to 3"]),
        ("shard:2-4/4:sample", ["no shard 2 to 4 of 4"]),
        ("shard:2-1/4:sample", ["no shard 2 to 1 of 4"]),
        ("shard:-1/4:sample", ["INDEX/COUNT"]),
    ],
)
def test_refused_specifications(spec: str, parts: list[str]) -> None:
    has(refusal(spec), *parts)


def test_shards_out_of_range() -> None:
    with pytest.raises(InputError, match="no shard -1"):
        shard(open_corpus("sample"), -1, 2)


# -------------------------------------------------------------------------------- files that are not there


def test_a_path_needs_no_family_and_has_to_exist(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", "a\nb")
    for written, texts in {str(file): ["a\nb"], f"{file}?split=line": ["a", "b"]}.items():
        assert [one.text for one in read(open_corpus(written), Tally())] == texts
    has(refusal(str(tmp_path / "b.txt")), "no such file", "pyharness list corpora")


def test_missing_files(tmp_path: Path) -> None:
    write(tmp_path / "english.txt", "a")
    has(refusal(f"path:{tmp_path}/englsh.txt"), "englsh.txt", "did you mean", "english.txt")
    has(refusal(f"path:{tmp_path}/zzz/a.txt"), f"{tmp_path}/zzz/a.txt", "spelling")
    has(refusal(f"path:{tmp_path}/*.xml"), str(tmp_path), "*.xml")
    has(refusal(f"path:{tmp_path}/english.txt?max_bytes"), "max_bytes", "?key=value")
    has(refusal(f"path:{'x' * 5000}"), "cannot read", "name too long")


def test_a_directory_without_text(tmp_path: Path) -> None:
    write(tmp_path / "a.bin", "a")
    has(refusal(f"path:{tmp_path}"), str(tmp_path), ".jsonl", "glob")


def test_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    has(refusal(f"path:{tmp_path}/pipe"), f"{tmp_path}/pipe", "directory")


def test_options_that_do_not_apply(tmp_path: Path) -> None:
    has(refusal(f"path:{write(tmp_path / 'a.txt', 'a')}?field=body"), "a.txt", "field=", "plain text")
    has(refusal(f"path:{write(tmp_path / 'a.jsonl', '{}')}?split=file"), "a.jsonl", "split=file", "row")
    has(refusal(f"path:{write(tmp_path / 'a.parquet.gz', '')}"), "Parquet", "decompress")


def test_columns_that_are_no_strings(tmp_path: Path) -> None:
    lists = pa.array([["a"]], pa.list_(pa.string()))
    for others, texts in (
        ({}, ""),
        ({"n": [1], "one": ["b"], "more": pa.array(["c"]).dictionary_encode()}, "'one', 'more'"),
    ):
        pq.write_table(pa.table({"text": lists, "struct": pa.array([{"a": "b"}]), **others}), tmp_path / "a.parquet")
        message = failure(f"path:{tmp_path}/a.parquet")
        has(message, "'text'", "list<", texts)
        assert ("?field=" in message) is bool(texts), "there is one to choose"
        assert message.count("'text'") == 1
        assert "'struct'" not in message


def test_files_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "a.txt", "a")
    monkeypatch.setattr(os, "access", lambda *_: False)  # the tests may run as root
    has(refusal(f"path:{file}"), str(file), "permission")


def test_files_that_vanish(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", "a")
    corpus = open_corpus(f"path:{file}")
    file.unlink()
    with pytest.raises(InputError, match=r"a\.txt: No such file"):
        list(corpus.documents(Tally()))


def test_directories_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", refuse)
    has(refusal(f"path:{tmp_path}"), "cannot read", str(tmp_path), "Permission denied")


# -------------------------------------------------------------------------------- parallel


def rows_failure(spec: str) -> str:
    corpus = open_corpus(spec)
    assert isinstance(corpus, ParallelCorpus)
    with pytest.raises(InputError) as caught:
        list(corpus.rows(Tally()))
    assert failure(spec) == str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("eng", "deu"), [("1\n2\n3\n4\n", "1\n2\n"), ("1\n2", "1\n2\n3\n4")])
def test_uneven_files(eng: str, deu: str, tmp_path: Path) -> None:
    files = {"eng": write(tmp_path / "eng.txt", eng), "deu": write(tmp_path / "deu.txt", deu)}
    longer, shorter = ("eng", "deu") if len(eng) > len(deu) else ("deu", "eng")
    has(rows_failure(f"parallel:{tmp_path}"), f"{files[longer]} has 4 lines but {files[shorter]} has 2")


def test_parallel_directories(tmp_path: Path) -> None:
    has(refusal(f"parallel:{tmp_path}"), str(tmp_path), "languages", "none")
    write(tmp_path / "eng_Latn.txt", "a\n")
    has(refusal(f"parallel:{tmp_path}"), "languages", "eng_Latn")
    write(tmp_path / "deu_Latn.txt.gz", gzip.compress(b"a\n"))
    has(refusal(f"parallel:{tmp_path}?languages=eng_Latn,deu_Latin"), "language 'deu_Latin'", "'deu_Latn'")
    has(refusal(f"parallel:{tmp_path}?reference=est_Latn"), "reference language 'est_Latn'")
    has(refusal(f"parallel:{tmp_path}?field=x"), "field=", str(tmp_path), "plain text")
    has(refusal(f"parallel:{tmp_path}?split=line"), "parallel option 'split'")
    write(tmp_path / "deu_Latn.txt", "a\n")
    has(refusal(f"parallel:{tmp_path}"), "deu_Latn.txt", "deu_Latn.txt.gz", "keep one")
    has(refusal(f"parallel:{tmp_path}/deu_Latn.txt"), "JSON Lines", "directory")


def test_parallel_without_a_complete_row(tmp_path: Path) -> None:
    write(tmp_path / "eng.txt", "a\n\n")
    write(tmp_path / "deu.txt", "\nb\n")
    has(rows_failure(f"parallel:{tmp_path}"), "no documents", "2 empty")


def test_parallel_json_lines(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", '{"text": {"en": "a", "de": "b"}}\n{"text": "plain"}\n')
    has(refusal(f"parallel:{file}"), f"{file} line 2", "a string", "object", "path:")
    has(rows_failure(f"parallel:{file}?languages=en,de"), f"{file} line 2")
    has(refusal(f"parallel:{file}?languages=en,de&reference=fr"), "reference language 'fr'")
    has(refusal(f"parallel:{file}?field=body"), "line 1", "field 'body'", "'text'")
    write(file, '{"text": {"en": "a", "de": 7}}\n')
    has(refusal(f"parallel:{file}"), "line 1", "the de text", "number")
    write(file, '{"text": {"en": "a"}}\n{"text": {"de": "b"}}\n')
    has(refusal(f"parallel:{file}"), str(file), "en (1), de (1)", "?languages=")
    write(file, "")
    has(refusal(f"parallel:{file}"), "first 0 rows", "none")
    has(rows_failure(f"parallel:{file}?languages=en,de"), "no documents")


# -------------------------------------------------------------------------------- datasets


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("datasets")
    monkeypatch.setitem(sys.modules, "datasets", module)
    monkeypatch.setenv("no_proxy", "*")
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    return module


def test_offline_by_choice(fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    has(refusal("datasets:org/name"), "'org/name'", "HF_HUB_OFFLINE", "path:DIRECTORY")


def test_no_network(fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
    has(refusal("datasets:org/name"), f"cannot reach 127.0.0.1:{port}", "refused", "path:DIRECTORY")


def test_a_network_that_never_answers(fake: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: object) -> None:
        time.sleep(20)
        raise OSError("too late for anybody")

    monkeypatch.setattr(socket, "create_connection", hang)
    monkeypatch.setattr(network, "CONNECT_SECONDS", 0.1)
    start = time.monotonic()
    has(refusal("datasets:org/name"), "huggingface.co:443", "no answer")
    assert time.monotonic() - start < 5


def test_errors_of_the_library(fake: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def load_dataset(*names: object, **options: object) -> object:
        raise RuntimeError("Bad split:\n  test")

    monkeypatch.setattr(fake, "load_dataset", load_dataset, raising=False)
    has(
        failure(f"datasets:{tmp_path}?split=test"),
        "RuntimeError: Bad split: test",
        "split=test",
        "check name",
    )


def test_columns_of_datasets(fake: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = [{"text": "a", "n": 1}]
    monkeypatch.setattr(fake, "load_dataset", lambda *_, **__: rows, raising=False)
    has(failure(f"datasets:{tmp_path}?field=body"), "no column 'body'", "'text', 'n'", "?field=")
    has(failure(f"datasets:{tmp_path}?field=n"), "row 1", "'n' holds int", "not text")
    rows.clear()
    has(failure(f"datasets:{tmp_path}"), "no documents")


def test_splits_of_saved_datasets(fake: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fake, "load_from_disk", lambda _: {"train": [], "test": []}, raising=False)
    write(tmp_path / "dataset_dict.json", "{}")
    has(failure(f"datasets:{tmp_path}?split=trian"), "split 'trian'", "'train'")


def test_dataset_files_of_unknown_kinds(fake: ModuleType, tmp_path: Path) -> None:
    has(refusal(f"datasets:{write(tmp_path / 'a.xyz', '')}"), "a.xyz", ".parquet", "path:")
