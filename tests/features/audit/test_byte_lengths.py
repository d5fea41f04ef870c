"""Byte lengths of ids: they add up to the bytes of a text, or the row is named as one where they cannot."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from pyharness import tokenizers
from pyharness.features.audit import byte_lengths
from pyharness.features.audit.byte_lengths import SAMPLE, load, losses, naive_lengths, sums
from pyharness.types import InputError, Tokenizer, TokenKind, Unsupported
from tokenizer_files import byte_level, rank_data, sentencepiece_data, tekken, write

DATA = Path(os.environ.get("PYHARNESS_DATA", "/nowhere")) / "tokenizers"
NAMED = ("raw_bytes", "deepseek", "cl100k_base", "o200k_base", "mistral:tekken")
PUBLISHED = sorted(path for path in DATA.rglob("*") if path.suffix in (".json", ".tiktoken", ".model", ".v1", ".v3"))
PUBLISHED = [path for path in PUBLISHED if path.parent != DATA]
SHIPPED = ("sample",)  # all parts of it


@pytest.fixture(params=[*NAMED, *(f"file:{path}" for path in PUBLISHED)], ids=lambda row: Path(row).name)
def row(request: pytest.FixtureRequest) -> str:
    try:
        tokenizers.obtain(request.param)
    except InputError as error:
        pytest.skip(f"this row needs what is not here: {error}")
    return str(request.param)


def test_lengths_of_every_exact_row_add_up_on_all_shipped_text(row: str) -> None:
    lengths, tokenizer = load(row)
    lost, read = losses(lengths, tokenizer), sums(lengths, tokenizer, SHIPPED)
    assert read.documents > 2500
    if tokenizer.round_trip == "exact":
        assert (lost, read.unequal, read.total) == ([], 0, read.bytes)
        assert byte_lengths.claim(tokenizer, lost, read) == "every text"
    else:
        # The row's promise is less, and each of these rows is named with a text that shows why.
        assert lost
        assert byte_lengths.claim(tokenizer, lost, read) == "not every text"


def test_lengths_are_those_of_tiktoken(row: str) -> None:
    lengths, tokenizer = load(row)
    encoding = getattr(tokenizer, "encoding", None)
    if encoding is None:
        pytest.skip("tiktoken does not run this row")
    present = np.flatnonzero(lengths.vocabulary.kinds != TokenKind.ABSENT).tolist()
    assert len(present) == len(encoding._mergeable_ranks) + len(encoding._special_tokens)
    assert [len(encoding.decode_single_token_bytes(one)) for one in present] == lengths.lengths[present].tolist()


def test_lengths_are_those_of_tiktoken_on_a_file(tmp_path: Path) -> None:
    spec = write(tmp_path, "small.tiktoken", rank_data()) + "?pattern=gpt2&special=<end>:300"
    lengths, tokenizer = load(spec)
    encoding = tokenizer.encoding  # type: ignore[attr-defined]
    for token in (*range(262), 300):
        assert lengths.lengths[token] == len(encoding.decode_single_token_bytes(token))
    assert lengths.lengths[262:300].tolist() == [0] * 38
    assert lengths.without_special()[300] == 0


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁"), max_size=30)


@settings(max_examples=examples(300))
@given(TEXTS)
def test_lengths_add_up_on_any_text(text: str) -> None:
    for lengths, tokenizer in _small():
        assert lengths.total(tokenizer.encode_batch([text]).ids) == len(text.encode())


_kept: list[tuple[byte_lengths.ByteLengths, Tokenizer]] = []


def _small() -> list[tuple[byte_lengths.ByteLengths, Tokenizer]]:
    """A byte-level tokenizer.json and a rank file, loaded once."""
    if not _kept:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            _kept.append(load(write(Path(folder), "tokenizer.json", byte_level())))
            _kept.append(load(write(Path(folder), "small.tiktoken", rank_data()) + "?pattern=o200k_base"))
            _kept.append(load(write(Path(folder), "tekken.json", tekken())))
    return _kept


def test_naive_lengths_are_wrong_and_stand_next_to_the_right_ones(tmp_path: Path) -> None:
    text = "hello 中é 👍"
    lengths, tokenizer = load(write(tmp_path, "small.tiktoken", rank_data()) + "?pattern=gpt2")
    naive = naive_lengths(tokenizer, lengths.vocabulary)
    ids = tokenizer.encode_batch([text]).ids
    assert lengths.total(ids) == len(text.encode()) == 16
    assert int(naive[ids].sum()) > 16  # each part of a character became U+FFFD, which has three bytes
    assert naive[0xC3] == 3
    assert lengths.lengths[0xC3] == 1
    wrong = sums(lengths, tokenizer, [SAMPLE], naive)
    assert wrong.total == wrong.bytes != wrong.naive


def test_the_dummy_space_is_no_byte_of_the_text(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    lengths, tokenizer = load(write(tmp_path, "m.model", sentencepiece_data(2, byte_fallback=True)))
    assert lengths.dummy_space
    ids = tokenizer.encode_batch(["hell w中"]).ids
    assert int(lengths.lengths[ids].sum()) == 10
    assert lengths.total(ids) == 9
    assert lengths.total(ids[:0]) == 0
    at_start = lengths.without_dummy_space(lengths.lengths)
    space = [vocab == b" w" for vocab in lengths.vocabulary.strings()].index(True)
    assert (lengths.lengths[space], at_start[space]) == (2, 1)
    byte = [vocab == b"\xe4" for vocab in lengths.vocabulary.strings()].index(True)
    assert lengths.lengths[byte] == 1
    naive = naive_lengths(tokenizer, lengths.vocabulary)
    assert (naive[space], naive[byte]) == (1, 3)


def test_a_row_that_changes_text_is_named_with_texts_that_show_it(tmp_path: Path) -> None:
    content = byte_level() | {"normalizer": {"type": "NFC"}}
    lengths, tokenizer = load(write(tmp_path, "tokenizer.json", content))
    (lost,) = losses(lengths, tokenizer)
    assert (lost.text, lost.bytes, lost.total) == ("e\u0301", 3, 2)
    read = sums(lengths, tokenizer, [SAMPLE])
    assert byte_lengths.claim(tokenizer, [lost], read) == "not every text"
    assert byte_lengths.claim(tokenizer, [], byte_lengths.Sums(1, 1, 0, 1, None)) == "open"


def test_special_ids_are_spelled_or_zero(tmp_path: Path) -> None:
    lengths, _ = load(write(tmp_path, "tokenizer.json", byte_level()))
    special, added = (lengths.vocabulary.strings().index(content) for content in (b"<|endoftext|>", b"   "))
    assert (lengths.lengths[special], lengths.without_special()[special]) == (13, 0)
    assert lengths.lengths[added] == lengths.without_special()[added] == 3


@pytest.mark.parametrize("spec", ["units:word", "patches:space"])
def test_a_row_without_ids_has_no_lengths(spec: str) -> None:
    with pytest.raises(Unsupported):
        load(spec)
