"""Bases that are named as rows are."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from adapted.bases import NEW, OLD, write_base
from cases.trained_rows import asked
from pyharness import suite, tokenizers
from pyharness.commands import dry_run
from pyharness.features.adaptation import benchmark
from pyharness.features.adaptation.trainers.adapted import BaseFile
from pyharness.features.training import trainers
from pyharness.features.training.recipe import file_of
from pyharness.tokenizers.families import hub as hub_family
from pyharness.tokenizers.families import openai_files
from pyharness.types import InputError, Unsupported
from pyharness.vocabularies.encodings import OPENAI_ENCODINGS


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cache of the Hub with one tokenizer, and its settings."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    folder = tmp_path / "hub" / "models--me--mine"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("abc123")
    snapshot = folder / "snapshots" / "abc123"
    snapshot.mkdir(parents=True)
    (snapshot / "tokenizer_config.json").write_text('{"a": 1}')
    return write_base(snapshot)


def test_files_are_what_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deepseek").mkdir()
    write_base(tmp_path / "deepseek")
    for base in ("deepseek", "nowhere.json", "file:x?pattern=gpt2", "unknown:row", ":", "a\0b"):
        assert file_of(base) == base


def test_a_row_of_the_hub_is_its_file_in_the_cache(hub: Path) -> None:
    assert file_of("hf:me/mine") == str(hub)
    request = asked("continued-bpe", texts=lambda: NEW, base=file_of("hf:me/mine"), tokens=3)
    assert trainers.train("continued-bpe", request).files["tokenizer_config.json"] == b'{"a": 1}'


@pytest.mark.usefixtures("in_process")
def test_rows_have_such_bases_and_are_made_anew_when_their_files_change(hub: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("\n".join(NEW), encoding="utf-8")
    row = f"trained:continued-bpe?base=hf:me/mine&corpus=path:{tmp_path / 'new.txt'}&tokens=4"
    assert tokenizers.load(tokenizers.obtain(row)).id_limit == 277
    (hub.parent / "tokenizer_config.json").write_text('{"a": 2}')
    with pytest.raises(InputError, match="changed"):
        tokenizers.load(row)


def test_a_dry_run_downloads_no_base(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The base is a row whose file is not on this machine, and the Hub is not to be asked for it."""
    del cache
    (tmp_path / "new.txt").write_text("\n".join(NEW), encoding="utf-8")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    asked_for: list[str] = []

    def fetch(repository: str, revision: str) -> bytes:
        asked_for.append(repository)
        raise InputError(f"{repository} at {revision} is not to be had")

    monkeypatch.setattr(hub_family, "fetch", fetch)
    text = f"path:{tmp_path / 'new.txt'}"
    row = f"trained:continued-bpe?base=hf:me/absent&corpus={text}&tokens=4"
    planned = dry_run.foresee(suite.declare([row], [text], ["compression"]))
    assert [one.lacking for one in planned.tokenizers] == ["training"]
    assert asked_for == []
    with pytest.raises(InputError, match="me/absent"):
        tokenizers.obtain(row)
    assert asked_for == ["me/absent"]
    with pytest.raises(InputError, match=r"native\+hf:me/absent"):
        tokenizers.resolve(row.replace("hf:", "native+hf:"))


@pytest.mark.usefixtures("in_process")
def test_a_row_is_measured_against_such_a_base(hub: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("\n".join(NEW), encoding="utf-8")
    row = tokenizers.obtain(f"trained:continued-bpe?base=hf:me/mine&corpus=path:{tmp_path / 'new.txt'}&tokens=4")
    base = tokenizers.resolve(benchmark.base_of(row, benchmark.adapting(row)))
    assert base.path == str(hub)
    with pytest.raises(Unsupported, match="dropout"):
        benchmark.adapting(tokenizers.resolve(f"native+{row.name}&dropout=0.1&seed=1"))


def test_files_without_a_name_are_kept_under_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """Those of tiktoken's cache are called by a digest, and gpt2 and r50k_base are one."""
    data = write_base(tmp_path, "mine.tiktoken").read_bytes()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(openai_files, "_digest", lambda _: OPENAI_ENCODINGS["gpt2"].digest)
    (tmp_path / hashlib.sha1(str(OPENAI_ENCODINGS["gpt2"].url).encode()).hexdigest()).write_bytes(data)
    found = file_of("tiktoken:gpt2")
    base = BaseFile.read(found)
    assert (base.name, base.data) == ("gpt2-adapted.tiktoken", data)
    assert base.path.is_relative_to(cache.parent / "bases")
    assert dict(base.special or {}) == {"<|endoftext|>": 50256}
    base.path.write_bytes(b"damaged")
    assert BaseFile.read(file_of("tiktoken:gpt2")).data == data


@pytest.mark.parametrize(
    ("base", "said"),
    [
        ("native+hf:me/mine", r"'native\+hf:me/mine'"),
        ("trained:bpe?corpus=sample&vocab_size=300", r"'trained:bpe\?.*'"),
        ("raw_bytes", "'raw_bytes' .*vocabulary file"),
        ("hf:me/other", "hf:me/other' is not"),
        ("mistral:v99", "unknown mistral tokenizer 'v99'"),
    ],
)
@pytest.mark.usefixtures("hub")
def test_rows_without_a_file_are_refused(base: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match=said):
        file_of(base)


@pytest.mark.data
def test_a_published_encoding(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    url = str(OPENAI_ENCODINGS["r50k_base"].url)
    name = hashlib.sha1(url.encode()).hexdigest()
    shutil.copy(data / "tokenizers" / "tiktoken" / Path(url).name, tmp_path / name)
    request = asked("continued-bpe", texts=lambda: [*NEW, *OLD], base=file_of("tiktoken:gpt2"), tokens=3)
    trained = trainers.train("continued-bpe", request)
    assert (next(iter(trained.files)), trained.vocab_size) == ("gpt2-adapted.tiktoken", 50_260)
    assert trained.loading["special"] == "<|endoftext|>:50256"
