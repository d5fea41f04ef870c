"""Our encoder gives the ids of the library that a file comes from; what it decodes is the text, or its normal form."""

from __future__ import annotations

import json
import lzma
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpe_files import FILES, characters_file, without_decoder, words_file
from cases.tokenizer_models import model_of_file
from layout.thoroughness import examples
from pyharness import _core, tokenizers
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.huggingface import tokenizer_json
from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.formats.own_file import content_of_model, load_bytes, save_bytes
from pyharness.bpe.formats.own_reader import model_of_content
from pyharness.types import HasMergeModel, HasPipeline, HasVocabulary, InputError, MergeModel, Tokenizer
from tokenizer_files import TEXTS, byte_level, check_contract, rank_data, write

LIBRARIES = ("tokenizers", "sentencepiece", "tiktoken")
# Its added token is "ow", and its normaliser puts a "w" before a text. tokenizers 0.23 decodes that token to "wow".
PREPENDED = "metaspace, first, something before"
CHARACTERS = st.one_of(st.sampled_from("helow ▁  \n'aé\u0301"), st.characters(exclude_categories=["Cs"]))
TEXT = st.lists(st.tuples(CHARACTERS, st.integers(1, 5)), max_size=30).map(
    lambda runs: "".join(character * count for character, count in runs)
)


def pair(name: str, folder: Path) -> tuple[Tokenizer, Tokenizer]:
    for module in LIBRARIES:
        pytest.importorskip(module, reason="the library that the file comes from is not installed")
    spec = write(folder, "file", FILES[name])
    if name == "ranks":
        spec += "?pattern=gpt2&special=<|endoftext|>:900"
    return tokenizers.load(spec), tokenizers.load(f"native+{spec}")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Tokenizer, Tokenizer]]:
    return {name: pair(name, tmp_path_factory.mktemp("pair")) for name in FILES}


@pytest.mark.parametrize("name", FILES)
def test_small_files_keep_the_contract(name: str, pairs: dict[str, tuple[Tokenizer, Tokenizer]]) -> None:
    home, ours = pairs[name]
    check_same(home, ours, [*TEXTS, "", "hello  low", "hellohello hello ow"])
    check_contract(ours)
    assert isinstance(ours, HasVocabulary)
    assert isinstance(ours, HasMergeModel)
    assert (ours.round_trip, ours.id_limit, ours.vocab_size) == (home.round_trip, home.id_limit, home.vocab_size)


@settings(max_examples=examples(40), deadline=None)
@given(texts=st.lists(TEXT, min_size=1, max_size=3))
def test_same_ids_on_any_text(pairs: dict[str, tuple[Tokenizer, Tokenizer]], texts: list[str]) -> None:
    for name, (home, ours) in pairs.items():
        check_same(home, ours, [text for text in texts if name != PREPENDED or "wow" not in f"w{text}"])


def test_an_added_token_that_is_found_in_normalised_text_decodes_to_itself(
    pairs: dict[str, tuple[Tokenizer, Tokenizer]],
) -> None:
    home, ours = pairs[PREPENDED]
    ids = ours.encode_batch(["ow"]).document(0)
    assert ids.tolist() == home.encode_batch(["ow"]).document(0).tolist() == [15]
    assert ours.decode(ids) == b"ow"


def check_same(home: Tokenizer, ours: Tokenizer, texts: list[str]) -> None:
    expected, encoded = home.encode_batch(texts), ours.encode_batch(texts)
    for index, text in enumerate(texts):
        ids = encoded.document(index)
        assert ids.tolist() == expected.document(index).tolist(), f"other ids for {text[:80]!r}"
        assert ours.decode(ids) == home.decode(ids), f"other text for the ids of {text[:80]!r}"
        if ours.round_trip == "exact":
            assert ours.decode(ids) == text.encode()
        elif ours.round_trip == "normalised":
            assert isinstance(ours, HasPipeline)
            assert ours.decode(ids).decode() == ours.normalize(text)
    again = ours.encode_batch(texts, 2)
    assert np.array_equal(again.ids, encoded.ids)
    assert np.array_equal(again.offsets, encoded.offsets)


@pytest.mark.parametrize("name", [name for name in FILES if "decoder" in name])
def test_any_ids_decode_as_the_library_decodes_them(name: str, pairs: dict[str, tuple[Tokenizer, Tokenizer]]) -> None:
    home, ours = pairs[name]
    assert home.round_trip == ours.round_trip == "lossy"
    generator = random.Random(name)
    for size in (0, 1, 2, 3, 30, 300):
        ids = np.array(generator.choices(range(ours.id_limit), k=size), np.uint32)
        assert ours.decode(ids) == home.decode(ids)


def test_a_file_without_a_decoder_says_that_tokens_are_joined_with_spaces(tmp_path: Path) -> None:
    file = json.dumps(without_decoder(byte_level())).encode()
    model = import_model(file)
    tokenizer = BpeTokenizer(model)
    assert tokenizer.decode(tokenizer.encode("hello w!")) == "hello Ġw !".encode()
    assert any(re.match("lossy:.*decoder.*spaces", note) for note in tokenizer.notes)
    kept = load_bytes(save_bytes(model), "kept")
    assert kept.decoder == "spaces"
    written = json.loads(tokenizer_json(model))
    assert written["decoder"] is None
    with pytest.raises(InputError, match="'decoder' is 'space'; known: spaces"):
        model_of_content(content_of_model(model) | {"decoder": "space", "version": 1}, "the file")


REAL = {
    "tiktoken/r50k_base.tiktoken": "tiktoken",
    "tiktoken/p50k_base.tiktoken": "tiktoken",
    "tiktoken/cl100k_base.tiktoken": "tiktoken",
    "tiktoken/o200k_base.tiktoken": "tiktoken",
    "gpt2/tokenizer.json": "tokenizers",
    "qwen2_5/tokenizer.json": "tokenizers",
    "deepseek_v3/tokenizer.json": "tokenizers",
    "mistral/mistral02_tokenizer.json": "tokenizers",
    "gpt_neox/tokenizer.json": "tokenizers",
    "modernbert/tokenizer.json": "tokenizers",
    "yi/tokenizer.json": "tokenizers",
    "claude_legacy/tokenizer.json": "tokenizers",
    "mpt/tokenizer.json": "tokenizers",
    "clip/tokenizer.json": "tokenizers",
    "mistral/tokenizer.model.v1": "sentencepiece",
    "mistral/mistral_instruct_tokenizer_240323.model.v3": "sentencepiece",
}


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_real_files_on_real_and_random_text(name: str, data: Path) -> None:
    pytest.importorskip(REAL[name], reason="the library that the file comes from is not installed")
    spec = f"file:{data / 'tokenizers' / name}"
    home, ours = tokenizers.load(spec), tokenizers.load(f"native+{spec}")
    assert isinstance(ours, BpeTokenizer)
    contents = [token.content for token in ours.model.added][:50] or [" "]
    check_same(home, ours, [*TEXTS, *real_texts(data), *random_texts(contents)])


def real_texts(data: Path) -> Iterator[str]:
    for name in ("code/python", "multilingual/th/thaigov_news", "multilingual/zh/tang_song_poetry", "english/books"):
        path = data / f"corpora/{name}.jsonl.xz"
        if path.exists():
            with lzma.open(path, "rt", encoding="utf-8") as lines:
                yield from (json.loads(next(lines))["text"] for _ in range(1))


def random_texts(contents: list[str]) -> Iterator[str]:
    """Every plane, long runs, combining marks, emoji, spaces, and the added tokens."""
    draw = random.Random(7)
    ranges = [(32, 127), (32, 127), (0x300, 0x370), (0x1100, 0x1200), (0x4E00, 0x9FFF), (0xAC00, 0xD7A4)]
    ranges += [(0x1F300, 0x1FA00), (0, 0x3000), (0, 0xD800), (0xE000, 0x110000), (0x10000, 0x20000)]

    def character() -> str:
        return (
            draw.choice(" \n\t\u00a0▁\u200d\ufe0f'")
            if draw.random() < 0.2
            else chr(draw.randrange(*draw.choice(ranges)))
        )

    for _ in range(60):
        yield "".join(
            draw.choice([character() * draw.choice([1, 2, 3, 20, 90]), draw.choice(contents), " " * draw.randrange(30)])
            for _ in range(draw.randrange(1, 40))
        )


def test_numbered_batches_give_the_ids_of_one_batch() -> None:
    ours = BpeTokenizer(import_model(json.dumps(byte_level()).encode()), dropout=0.5, seed=3)
    texts = [text * 3 for text in TEXTS] * 4
    batches = [ours.encode_batch(texts[at : at + 5], 2, first_document=at) for at in range(0, len(texts), 5)]
    assert np.array_equal(np.concatenate([batch.ids for batch in batches]), ours.encode_batch(texts).ids)


def test_special_tokens_are_text_unless_asked_for() -> None:
    model = import_model(json.dumps(byte_level()).encode())
    text = "he<|endoftext|>  he"
    ours, special = BpeTokenizer(model), model.special["<|endoftext|>"]
    off, on = ours.encode(text), ours.encode(text, allowed_special="all")
    assert special not in off
    assert on.tolist().count(special) == 1
    assert ours.decode(off) == ours.decode(on) == text.encode()


def test_special_tokens_of_ranks_as_tiktoken_maps_them() -> None:
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is the home of rank files")
    special = {"<|a|>": 300, "<|ab|>": 301}
    model = import_model(rank_data(), pattern="gpt2", special=special)
    ranks = {model.vocabulary[token]: token for token in range(262)}
    home = tiktoken.Encoding("x", pat_str=r"\S+|\s+", mergeable_ranks=ranks, special_tokens=special)
    ours = BpeTokenizer(import_model(rank_data(), pattern=r"\S+|\s+", special=special))
    for text in ("<|a|>", " <|ab|>hello<|a|> \n<|a|", "hello", "<|a|><|a|>  "):
        assert ours.encode(text, allowed_special="all").tolist() == home.encode(text, allowed_special="all")


def test_bytes_that_are_no_text() -> None:
    ours = BpeTokenizer(import_model(rank_data(), pattern="gpt2"))
    data = bytes(range(256)) + "é".encode()[:1]
    assert ours.decode(ours.encode(data)) == data
    characters = BpeTokenizer(import_model(json.dumps(characters_file(normalizer={"type": "NFC"})).encode()))
    with pytest.raises(InputError, match=r"UTF-8.*byte 1"):
        characters.encode_batch(["he", b"h\xff"])
    marked = BpeTokenizer(model_of_file("metaspace, split"))
    with pytest.raises(InputError, match=r"UTF-8.*byte 1"):
        marked.encode(b"h\xff")


@pytest.mark.parametrize("name", FILES)
def test_what_is_no_text_is_a_type_error(name: str) -> None:
    for module in LIBRARIES:
        pytest.importorskip(module, reason="stages are run by the library")
    with pytest.raises(TypeError, match=r"bytes.* int"):
        BpeTokenizer(model_of_file(name)).encode(5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "longest"}, "did you mean 'longest_match'"),
        ({"dropout": 1.5}, r"dropout.*1\.5"),
        ({"dropout": float("nan")}, "dropout.*nan"),
        ({"seed": -1}, "seed is -1"),
        ({"method": "longest_match", "dropout": 0.1}, "dropout.*longest_match"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        BpeTokenizer(import_model(rank_data(), pattern="gpt2"), **options)


@pytest.mark.parametrize("name", ["ranks", "sentencepiece", "words with a suffix"])
@pytest.mark.parametrize("stranger", [4_000_000_000, -1])
def test_an_id_that_is_none(name: str, stranger: int, pairs: dict[str, tuple[Tokenizer, Tokenizer]]) -> None:
    with pytest.raises(InputError, match=f"id {stranger} .*vocabulary"):
        pairs[name][1].decode(np.array([1, stranger]))


def test_the_decoder_of_the_core_checks_its_arrays() -> None:
    data, ids = np.arange(4, dtype=np.uint8), np.array([1, 0, 1], np.uint32)
    assert _core.decode(data, np.array([0, 1, 4]), ids) == bytes([1, 2, 3, 0, 1, 2, 3])
    for offsets in ([0, 1, 5], [0, 3, 2], [-1, 1, 2], [0, 1], []):
        with pytest.raises(ValueError, match=r"offsets|limit"):
            _core.decode(data, np.array(offsets, np.int64), ids)


def test_symbols_of_words_with_a_prefix(tmp_path: Path) -> None:
    """The first symbol of a word is bare, unless the token is from inside of one."""
    file = words_file(prefix="##", suffix="</w>", unknown="<unk>")
    vocab = file["model"]["vocab"]
    for token, symbols in {"he": ["h", "##e"], "##lo</w>": ["##l", "##o</w>"], "h</w>": ["h</w>"]}.items():
        for model in (import_model(json.dumps(file).encode()).merges, home_model(write(tmp_path, "file", file))):
            base = model.base[model.base_offsets[vocab[token]] : model.base_offsets[vocab[token] + 1]]
            assert base.tolist() == [vocab[symbol] for symbol in symbols]


def home_model(spec: str) -> MergeModel:
    pytest.importorskip("tokenizers", reason="the library that the file comes from is not installed")
    home = tokenizers.load(spec)
    assert isinstance(home, HasMergeModel)
    return home.merge_model()


def test_options_of_a_row(tmp_path: Path) -> None:
    spec = write(tmp_path, "x.tiktoken", rank_data()) + "?pattern=gpt2"
    plain = tokenizers.resolve(f"native+{spec}")
    longest = tokenizers.resolve(f"native+{spec}&method=longest_match")
    assert plain.vocabulary == tokenizers.resolve(spec).vocabulary != longest.vocabulary
    assert any("longest match" in note for note in tokenizers.load(longest).notes)
    sampled = tokenizers.load(f"native+{spec}&dropout=1&seed=2")
    assert sampled.encode_batch(["hello"]).ids.tolist() == list(b"hello")
    with pytest.raises(InputError, match=r"dropout=x .*number"):
        tokenizers.load(f"native+{spec}&dropout=x")
    with pytest.raises(InputError, match="dropout"):
        tokenizers.resolve(f"{spec}&dropout=0.1")
