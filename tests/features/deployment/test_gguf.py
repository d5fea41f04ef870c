"""GGUF files: the ids of the home file, and files that are cut off, of another version, or too large."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deployed.gguf import gguf, of_pieces, of_tokenizer_json
from layout.thoroughness import examples
from pyharness import tokenizers
from pyharness.corpora import open_corpus
from pyharness.features.deployment.gguf_file import GgufReader, read_metadata
from pyharness.features.deployment.gguf_vocabulary import PATTERNS, STEPS, is_wanted
from pyharness.types import InputError, Tally
from pyharness.vocabularies.sentencepiece_file import read_model
from tokenizer_files import TEXTS, byte_level, sentencepiece_data, write

DATA = Path(os.environ.get("PYHARNESS_DATA", "/nowhere")) / "tokenizers"
HOMES = {
    "gpt2": ("gpt2/tokenizer.json", "gpt-2"),
    "qwen2_5": ("qwen2_5/tokenizer.json", "qwen2"),
    "deepseek_v3": ("deepseek_v3/tokenizer.json", "deepseek-v3"),
}


def small() -> dict[str, Any]:
    return of_tokenizer_json(json.dumps(byte_level()).encode(), "gpt-2")


def pieces(data: bytes) -> list[tuple[str, float, int]]:
    model = read_model(data, "the file")
    return list(zip(model.pieces, model.scores, map(int, model.types), strict=True))


def file(folder: Path, pairs: dict[str, Any], **options: Any) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(gguf(pairs, **options))
    return path


def same(first: str, second: str, texts: list[str]) -> None:
    one, other = (tokenizers.load(spec).encode_batch(texts) for spec in (first, second))
    for number, text in enumerate(texts):
        assert np.array_equal(one.document(number), other.document(number)), text


def test_a_byte_level_vocabulary_gives_the_ids_of_its_file(tmp_path: Path) -> None:
    home = write(tmp_path, "tokenizer.json", byte_level())
    path = file(tmp_path, small())
    same(home, f"gguf:{path}", [*TEXTS, "hello   w<|endoftext|>"])
    row = tokenizers.resolve(f"gguf:{path}")
    assert (row.library, row.path) == ("pyharness", None)
    assert tokenizers.load(row).vocab_size == tokenizers.load(home).vocab_size


@pytest.mark.parametrize("fallback", [False, True])
def test_a_sentencepiece_vocabulary_gives_the_ids_of_its_file(tmp_path: Path, fallback: bool) -> None:
    data = sentencepiece_data(2, byte_fallback=fallback) + b"\x1a\x02\x20\x00"  # keep spaces, as llama.cpp does
    home = write(tmp_path, "small.model", data)
    path = file(tmp_path, of_pieces(pieces(data)))
    same(home, f"gguf:{path}", TEXTS)
    bare = file(tmp_path, of_pieces(pieces(data), add_space_prefix=False))
    ids = tokenizers.load(f"gguf:{bare}").encode_batch(["hell"]).ids
    assert tokenizers.load(home).decode(ids) == b"hell"
    assert len(ids) == 1


@pytest.mark.data
@pytest.mark.parametrize(
    "name", ["gpt2", *(pytest.param(one, marks=pytest.mark.slow) for one in HOMES if one != "gpt2")]
)
def test_published_vocabularies_give_the_ids_of_their_files(name: str, tmp_path: Path) -> None:
    home, pre = HOMES[name]
    if not (DATA / home).is_file():
        pytest.skip("the file is not here")
    path = file(tmp_path, of_tokenizer_json((DATA / home).read_bytes(), pre))
    texts = list(open_corpus("sample:prose").documents(Tally()))[:50]
    same(f"file:{DATA / home}", f"gguf:{path}", [text for text in texts if text.isascii()])


def test_no_normaliser_is_in_a_gguf_file(tmp_path: Path) -> None:
    content = byte_level() | {"normalizer": {"type": "NFC"}}
    home = tokenizers.load(write(tmp_path, "tokenizer.json", content))
    deployed = tokenizers.load(f"gguf:{file(tmp_path, small())}")
    text = "e\u0301"
    assert home.encode_batch([text]).ids.tolist() != deployed.encode_batch([text]).ids.tolist()
    assert deployed.decode(deployed.encode_batch([text]).ids) == text.encode()


@pytest.mark.parametrize("pre", [name for names in (*PATTERNS.values(), *STEPS) for name in names])
def test_every_pre_tokenizer_can_be_run(pre: str, tmp_path: Path) -> None:
    pairs = small() | {"tokenizer.ggml.pre": pre}
    if pre in PATTERNS["llama3"]:  # whole pieces are looked up, and "   " would be one
        pairs["tokenizer.ggml.tokens"] = ["<x>" if one == "   " else one for one in pairs["tokenizer.ggml.tokens"]]
    tokenizer = tokenizers.load(f"gguf:{file(tmp_path, pairs)}")
    text = "hello 12345 it's a`b$c \n\n x"
    assert tokenizer.decode(tokenizer.encode_batch([text]).ids) == text.encode()


def test_fillers_are_left_out(tmp_path: Path) -> None:
    pairs = small()
    pairs["tokenizer.ggml.tokens"] += ["[PAD0]", "[PAD1]"]
    pairs["tokenizer.ggml.token_type"] += [5, 5]
    tokenizer = tokenizers.load(f"gguf:{file(tmp_path, pairs)}")
    assert tokenizer.vocab_size == tokenizers.load(write(tmp_path, "tokenizer.json", byte_level())).vocab_size


def test_engines_run_a_gguf_file(tmp_path: Path) -> None:
    path = file(tmp_path, small())
    same(f"gguf:{path}", f"native+gguf:{path}", TEXTS)


# ------------------------------------------------------------------------------------------------- hostile files

BAD: dict[str, bytes] = {
    "empty": b"",
    "another magic": b"GGML" + bytes(40),
    "version 1": gguf({}, version=1),
    "version 99": gguf({}, version=99),
    "too many keys": b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 40),
    "a long key": b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 60),
    "a long list": b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 11) + b"tokenizer.x" + struct.pack("<IIQ", 9, 5, 1 << 22),
    "a huge list": b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 11) + b"tokenizer.x" + struct.pack("<IIQ", 9, 8, 1 << 50),
    "a list of lists": b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 11) + b"tokenizer.x" + struct.pack("<IIQ", 9, 9, 1),
    "an unknown type": b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"x" + struct.pack("<I", 77),
    "no UTF-8": b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"\xff" + struct.pack("<I", 4),
    "no tokenizer": gguf({"general.architecture": "clip"}),
    "another kind": gguf(small() | {"tokenizer.ggml.model": "bert"}),
    "another pre-tokenizer": gguf(small() | {"tokenizer.ggml.pre": "mine"}),
    "types that do not fit": gguf(small() | {"tokenizer.ggml.token_type": [1]}),
    "a type of none": gguf(small() | {"tokenizer.ggml.token_type": [9] * len(small()["tokenizer.ggml.tokens"])}),
    "no merges": gguf({key: one for key, one in small().items() if "merges" not in key}),
    "a merge of one": gguf(small() | {"tokenizer.ggml.merges": ["he"]}),
    "a merge of strangers": gguf(small() | {"tokenizer.ggml.merges": ["zz zz"]}),
    "tokens twice": gguf(small() | {"tokenizer.ggml.tokens": ["a"] * len(small()["tokenizer.ggml.tokens"])}),
    "no scores": gguf({key: one for key, one in of_pieces([("<unk>", 0, 2)]).items() if "scores" not in key}),
    "a score of nan": gguf(of_pieces([("<unk>", 0.0, 2), ("a", float("nan"), 1)])),
    "a score of 64 bits": gguf(of_pieces([("<unk>", 0.0, 2)]) | {"tokenizer.ggml.scores": 1.5}).replace(
        struct.pack("<If", 6, 1.5), struct.pack("<IIQd", 9, 12, 1, 1e300)
    ),
    "no unknown": gguf(of_pieces([("a", 0.0, 1)])),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_vocabulary_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(BAD[name])
    with pytest.raises(InputError) as error:
        tokenizers.load(f"gguf:{path}")
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    assert "OverflowError" not in str(error.value)


@settings(max_examples=examples(200))
@given(st.integers(0, 1 << 20))
def test_a_file_cut_off_anywhere_is_refused(tmp_path_factory: pytest.TempPathFactory, at: int) -> None:
    data = gguf(small())
    path = tmp_path_factory.mktemp("cut") / "cut.gguf"
    path.write_bytes(data[: at % len(data)])
    with pytest.raises(InputError, match="gguf"):
        tokenizers.resolve(f"gguf:{path}")


def test_tensors_behind_the_metadata_are_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = gguf(small(), tensors=300)
    path = tmp_path / "large.gguf"
    with path.open("wb") as large:
        large.write(whole)
        large.truncate(100 << 30)  # 100 GiB of holes
    read = 0
    take = GgufReader.take

    def counted(self: GgufReader, count: int, what: str) -> bytes:
        nonlocal read
        read += count
        return take(self, count, what)

    monkeypatch.setattr(GgufReader, "take", counted)
    assert tokenizers.load(f"gguf:{path}").encode_batch(["hello"]).ids.tolist() == [259]
    assert read <= len(whole)


def test_what_is_not_wanted_is_passed_over(tmp_path: Path) -> None:
    pairs = {"a": [1, 2], "b": ["x", "y"], "c": 1.5, "d": "text", "e": True, "tokenizer.x": 7}
    assert read_metadata(file(tmp_path, pairs), lambda key: key == "tokenizer.x") == {"tokenizer.x": 7}
    everything = read_metadata(file(tmp_path, pairs), lambda _: True)
    assert everything == pairs


def test_the_reader_agrees_with_the_package(tmp_path: Path) -> None:
    library = pytest.importorskip("gguf")
    path = file(tmp_path, small())
    read = library.GGUFReader(path)
    ours = read_metadata(path, lambda _: True)
    for key, one in ours.items():
        assert read.get_field(key).contents() == one


def test_a_file_of_the_other_order_of_bytes_is_read(tmp_path: Path) -> None:
    data = b"GGUF" + struct.pack(">IQQQ", 3, 0, 1, 1) + b"a" + struct.pack(">II", 4, 258)
    path = tmp_path / "big.gguf"
    path.write_bytes(data)
    assert read_metadata(path, lambda _: True) == {"a": 258}


def test_keys_that_are_not_read_take_no_memory(tmp_path: Path) -> None:
    path = file(tmp_path, {"tokenizer.ggml.other": [1, 2], "tokenizer.chat_template": "a", **small()})
    kept = read_metadata(path, is_wanted)
    assert kept.keys() == small().keys() - {"general.architecture"}


def test_a_key_in_a_message_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf({"a\n\x1bb": 1})[:-4])
    with pytest.raises(InputError, match="cut off") as error:
        read_metadata(path, is_wanted)
    assert str(error.value).isprintable()
