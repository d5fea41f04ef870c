"""Specifications: names, files, caches, networks, extras."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pyharness import tokenizers
from pyharness.plugins import libraries
from pyharness.plugins.specification import TOKENIZER
from pyharness.system import network
from pyharness.tokenizers.families import openai_files
from pyharness.types import InputError
from pyharness.vocabularies import encodings
from tokenizer_files import byte_level, rank_data, sentencepiece_data, write


def test_parse() -> None:
    parsed = TOKENIZER.parse("gigatoken+file:/x/a+b:c.tiktoken?pattern=a%26b|c=d&special=<s>:1")
    assert (parsed.engine, parsed.name, parsed.argument) == ("gigatoken", "file", "/x/a+b:c.tiktoken")
    assert parsed.options == {"pattern": "a&b|c=d", "special": "<s>:1"}
    assert parsed.home == "file:/x/a+b:c.tiktoken?pattern=a%26b|c=d&special=<s>:1"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "tokenizer .*''"),
        ("file:", "tokenizer .*'file:'"),
        ("+raw_bytes", r"tokenizer .*'\+raw_bytes'"),
        ("a+b+c:d", "two engines"),
        ("raw_byte", "did you mean 'raw_bytes'"),
        ("cl100k", "did you mean 'tiktoken:cl100k_base'"),
        ("mistral", "'mistral' .*mistral:tekken"),
        ("raw_bytes:1", "raw_bytes.* argument"),
        ("raw_bytes?a=1", "raw_bytes.* options"),
        ("raw_bytes?a", "option 'a'.*key=value"),
        ("tiktoken:cl100k", "did you mean 'cl100k_base'"),
        ("gigatok+raw_bytes", "did you mean 'gigatoken'"),
        ("gigatoken+raw_bytes", "gigatoken.*'raw_bytes'"),
        ("file:/no/such/file", "'no/such/file' in /"),
        ("file:/" + "a" * 5000, "/aaaa.* too long"),
        ("hf:../../etc/passwd", "hf:ORGANISATION/NAME"),
    ],
)
def test_wrong_specifications(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tokenizers.resolve(spec)


@pytest.mark.parametrize(
    ("bare", "full"),
    [("o200k_base", "tiktoken:o200k_base"), ("tekken", "mistral:tekken"), ("native+gpt2", "native+tiktoken:gpt2")],
)
def test_a_name_that_one_family_alone_knows_stands_for_its_row(bare: str, full: str) -> None:
    one, other = tokenizers.resolve(bare), tokenizers.resolve(full)
    assert (one.vocabulary, one.library, one.path) == (other.vocabulary, other.library, other.path)
    assert tokenizers.lacking(bare) == tokenizers.lacking(full)


def test_a_path_alone_is_the_row_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cl100k_base.tiktoken"
    write(tmp_path, path.name, rank_data())
    options = "?pattern=cl100k_base"
    for spec in (f"{path}{options}", f"native+{path}{options}"):
        row = tokenizers.resolve(spec)
        assert row.name == tokenizers.resolve(spec.replace(str(path), f"file:{path}")).name
        assert tokenizers.obtain(spec).name == row.name
        assert tokenizers.load(spec).encode_batch(["hello"]).ids.tolist() == [256 + 3]
    monkeypatch.chdir(tmp_path)
    assert tokenizers.resolve(path.name + options).name == f"file:{path.name}{options}"
    for name in ("raw_bytes", "gpt2"):
        (tmp_path / name).touch()
    assert tokenizers.resolve("raw_bytes").name == "raw_bytes"
    assert TOKENIZER.of_path("native+gpt2", tokenizers.bare_names) == "native+gpt2"
    assert TOKENIZER.of_path("./gpt2", tokenizers.bare_names) == "file:./gpt2"


def test_a_folder_is_searched(tmp_path: Path) -> None:
    names = r"tokenizer\.json, tekken\.json, tokenizer\.model, model\.json, \*\.tiktoken"
    with pytest.raises(InputError, match=names):
        tokenizers.resolve(f"file:{tmp_path}")
    write(tmp_path, "cl100k_base.tiktoken", rank_data())
    assert tokenizers.resolve(f"file:{tmp_path}?pattern=cl100k_base").library == "tiktoken"
    write(tmp_path, "tokenizer.json", byte_level())
    row = tokenizers.resolve(f"file:{tmp_path}")
    assert (row.library, row.path) == ("tokenizers", str(tmp_path / "tokenizer.json"))


def test_rank_files_say_their_pattern(tmp_path: Path) -> None:
    spec = write(tmp_path, "mine.tiktoken", rank_data())
    with pytest.raises(InputError, match=r"mine\.tiktoken.*cl100k_base"):
        tokenizers.resolve(spec)
    with pytest.raises(InputError, match="did you mean 'cl100k_base'"):
        tokenizers.resolve(f"{spec}?pattern=cl100kbase")
    names = {tokenizers.resolve(f"{spec}?pattern={name}").vocabulary for name in ("cl100k", "cl100k_base")}
    assert len(names) == 1, "one split, one vocabulary"
    assert tokenizers.load(rf"{spec}?pattern=\w+|\W+").round_trip == "lossy"
    rows = {tokenizers.resolve(f"{spec}?pattern={name}").vocabulary for name in ("gpt2", "cl100k_base", r"\w+|\W+")}
    assert len(rows) == 3, "other splits give other ids: one vocabulary name for them would be wrong"


def test_kind_is_told_by_content(tmp_path: Path) -> None:
    row = tokenizers.resolve(write(tmp_path, "strange.bin", sentencepiece_data(2, byte_fallback=True)))
    assert row.library == "sentencepiece"


def test_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda *names: None)
    with pytest.raises(InputError, match=r"'pyharness\[zoo\]'"):
        tokenizers.resolve("mistral:v3")
    with pytest.raises(InputError, match=r"'pyharness\[engines\]'"):
        tokenizers.resolve("quicktok:cl100k_base")


def test_without_network_advice_comes_quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "unreachable", lambda url: f"{urlsplit(url).hostname} (not here)")
    monkeypatch.setattr(openai_files, "carrier", lambda encoding: None)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(InputError, match=r"9b5ad71b2ce5302211f9c61530b329a4922fc6a4.*TIKTOKEN_CACHE_DIR"):
        tokenizers.load("tiktoken:cl100k_base")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    if libraries.is_installed("huggingface_hub"):
        with pytest.raises(InputError, match=r"tokenizer\.json.*file:PATH"):
            tokenizers.load("hf:openai-community/gpt2")


def test_hub_cache_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "models--me--mine"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("abc123")
    (folder / "snapshots" / "abc123").mkdir(parents=True)
    write(folder / "snapshots" / "abc123", "tokenizer.json", byte_level())
    row = tokenizers.resolve("hf:me/mine")
    assert (row.revision, row.library) == ("abc123", "tokenizers")
    assert tokenizers.load("hf:me/mine@abc123").vocab_size == 262


def test_a_cached_file_that_is_not_the_published_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    path = openai_files.cache_path(encodings.OPENAI_ENCODINGS["cl100k_base"])
    assert path is not None
    path.write_bytes(rank_data())
    with pytest.raises(InputError, match="SHA-256"):
        tokenizers.load("tiktoken:cl100k_base")


def test_patterns_are_those_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    public = pytest.importorskip("tiktoken_ext.openai_public")
    monkeypatch.setattr(public, "load_tiktoken_bpe", lambda *_, **__: {})
    monkeypatch.setattr(public, "data_gym_to_mergeable_bpe_ranks", lambda *_, **__: {})
    for name, build in public.ENCODING_CONSTRUCTORS.items():
        assert build()["pat_str"] == encodings.OPENAI_ENCODINGS[name].pattern
        second = {"<|reserved_200018|>"} if name == "o200k_harmony" else set()  # another name of <|endofprompt|>
        special = {one: token for one, token in build()["special_tokens"].items() if one not in second}
        assert special == encodings.OPENAI_ENCODINGS[name].special


def test_listing_imports_no_tokenizer_library() -> None:
    code = (
        "import sys; from pyharness import tokenizers as t; t.specs(), t.families_by_name(), t.engines_by_name();"
        "heavy = {'tokenizers', 'tiktoken', 'sentencepiece', 'gigatoken', 'quicktok', 'splintr', 'regex', 'awkward'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


def test_fixed_rows_resolve() -> None:
    for name, row in tokenizers.specs().items():
        if row.extra is None or row.path is not None:
            assert tokenizers.resolve(name).name == name
    for family in tokenizers.families_by_name().values():
        assert family.example.startswith(f"{family.name}:")
