"""BPE-dropout: what it may give, how often, and that nothing but seed, document and place decides it."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_files import FILES
from oracles import bpe as oracle
from pyharness import _core
from pyharness.bpe import WeightedPieces, train
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.training.trained_model import model_of_training
from pyharness.types import InputError, Vocabulary
from pyharness.vocabularies.files.merge_model import byte_level_model
from tokenizer_files import TEXTS, rank_data, sentencepiece_data

BYTES = "abcdefg"


def model(*tokens: bytes) -> BpeModel:
    return import_model(rank_data(tokens), pattern="none")


MODEL = model(b"ab", b"cd", b"abcd", b"bc", b"ef", b"abcde", b"de")


def test_philox_is_the_published_generator() -> None:
    """Known answers of Random123 (kat_vectors, philox4x32 with 10 rounds)."""
    assert _core.philox([0] * 4, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert _core.philox([2**32 - 1] * 4, 2**64 - 1) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    key = 0x299F31D0A4093822
    counter = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]
    assert _core.philox(counter, key) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


@pytest.mark.parametrize("name", sorted(set(FILES) - {"ranks", "tekken", "characters, whole pieces"}))
def test_without_dropout_it_is_the_plain_encoder(name: str) -> None:
    """Whole pieces are another matter: the shortcut is off while sampling."""
    source = import_model(FILES[name] if isinstance(FILES[name], bytes) else json.dumps(FILES[name]).encode())
    plain, sampled = BpeTokenizer(source), BpeTokenizer(source, dropout=1e-300, seed=5)
    for text in TEXTS:
        assert sampled.encode(text).tolist() == plain.encode(text).tolist()


@given(st.text("abx", max_size=20))
def test_bytes_without_a_symbol_are_left_out_before_merging(text: str) -> None:
    """With and without dropout: what stood around them merges."""
    tokens = {0: b"a", 1: b"b", 2: b"ab", 3: b"bab"}
    vocabulary = Vocabulary.from_tokens(tokens, {})
    never = np.iinfo(np.uint32).max
    byte_ids = np.full(256, never, np.uint32)
    byte_ids[[ord("a"), ord("b")]] = 0, 1
    ranks = np.array([never, never, 2, 3], np.uint32)
    source = BpeModel(
        vocabulary=vocabulary,
        merges=byte_level_model(vocabulary, byte_ids, ranks=ranks),
        alphabet={b"a": 0, b"b": 1},
        splitter="none",
        round_trip="lossy",
    )
    plain = BpeTokenizer(source).encode(text).tolist()
    assert plain == BpeTokenizer(source).encode(text.replace("x", "")).tolist()
    assert BpeTokenizer(source, dropout=1e-300, seed=5).encode(text).tolist() == plain


def test_with_certain_dropout_only_symbols_are_left() -> None:
    text = "abcdef hello é"
    assert BpeTokenizer(MODEL, dropout=1.0).encode(text).tolist() == list(text.encode())
    pieces = BpeTokenizer(import_model(sentencepiece_data(2, byte_fallback=True)), dropout=1.0)
    plain = pieces.model.alphabet
    assert pieces.encode("hello").tolist() == [plain[character.encode()] for character in "▁hello"]


@given(st.text(BYTES, max_size=40), st.floats(0, 1), st.integers(0, 2**64 - 1))
def test_samples_spell_the_text_with_tokens(text: str, dropout: float, seed: int) -> None:
    ours = BpeTokenizer(MODEL, dropout=dropout, seed=seed)
    ids = ours.encode(text)
    assert ours.decode(ids) == text.encode()
    assert ids.tolist() == ours.encode(text).tolist()


def test_each_merge_is_discarded_as_often_as_asked() -> None:
    """One candidate, which the draws of 20,000 documents decide: five standard deviations are 0.016."""
    for dropout in (0.1, 0.5, 0.9):
        ours = BpeTokenizer(model(b"ab"), dropout=dropout, seed=11)
        whole = np.diff(ours.encode_batch(["ab"] * 20_000).offsets) == 1
        assert abs(whole.mean() - (1 - dropout)) < 5 * (dropout * (1 - dropout) / 20_000) ** 0.5


def test_the_distribution_is_that_of_the_definition() -> None:
    """Frequencies of segmentations against probabilities that a recursion over the definition gives."""
    text, dropout, count = "abcdef", 0.3, 40_000
    expected = distribution([(letter.encode(),) for letter in text], dropout)
    ours = BpeTokenizer(MODEL, dropout=dropout, seed=17)
    batch = ours.encode_batch([text] * count)
    found = Counter(tuple(MODEL.vocabulary[token] for token in batch.document(i).tolist()) for i in range(count))
    assert set(found) <= set(expected)
    chi2 = sum((found[key] - count * p) ** 2 / (count * p) for key, p in expected.items() if p * count >= 5)
    cells = sum(p * count >= 5 for p in expected.values())
    assert chi2 < cells + 6 * (2 * cells) ** 0.5  # mean and six standard deviations


def distribution(symbols: list[tuple[bytes, ...]], dropout: float) -> dict[tuple[bytes, ...], float]:
    """Probability of each segmentation: the candidate of lowest rank comes up, and is discarded or merged."""
    ranks = {MODEL.vocabulary[token]: token for token in range(256, 263)}
    found: Counter[tuple[bytes, ...]] = Counter()

    def step(parts: tuple[bytes, ...], gone: frozenset[tuple[int, int]], probability: float) -> None:
        starts = [sum(map(len, parts[:i])) for i in range(len(parts) + 1)]
        candidates = [
            (ranks[left + right], i)
            for i, (left, right) in enumerate(pairwise(parts))
            if left + right in ranks and (starts[i], starts[i + 2]) not in gone
        ]
        if not candidates:
            found[parts] += probability  # type: ignore[assignment] # Counter of probabilities
            return
        _, i = min(candidates)
        step(parts, gone | {(starts[i], starts[i + 2])}, probability * dropout)
        step((*parts[:i], parts[i] + parts[i + 1], *parts[i + 2 :]), gone, probability * (1 - dropout))

    step(tuple(symbol[0] for symbol in symbols), frozenset(), 1.0)
    return dict(found)


def test_draws_depend_on_seed_document_and_place_alone() -> None:
    ours = BpeTokenizer(import_model(sentencepiece_data(2, byte_fallback=True)), dropout=0.5, seed=1)
    texts = ["hello hello low " * 5] * 40
    batch = ours.encode_batch(texts)
    for threads in (2, 4):
        again = ours.encode_batch(texts, threads)
        assert np.array_equal(again.ids, batch.ids)
        assert np.array_equal(again.offsets, batch.offsets)
    one_by_one = [ours.encode_batch([text], first_document=i).ids for i, text in enumerate(texts)]
    assert np.array_equal(np.concatenate(one_by_one), batch.ids)
    assert len({batch.document(i).tobytes() for i in range(40)}) > 30, "documents share their draws"
    other = BpeTokenizer(ours.model, dropout=0.5, seed=2).encode_batch(texts)
    assert not np.array_equal(other.ids, batch.ids)
    (document,) = (BpeTokenizer(model(b"ab"), dropout=0.5, seed=s).encode("ab" * 2000) for s in (3,))
    assert 2200 < len(document) < 3800, "places share their draws"


@pytest.mark.parametrize("first", [-1, 1 << 64])
def test_numbers_that_no_document_has(first: int) -> None:
    with pytest.raises(InputError, match=f"first_document is {first}"):
        BpeTokenizer(MODEL, dropout=0.5).encode_batch(["ab"], first_document=first)


def test_added_tokens_do_not_change_the_draws_of_the_text_before_them() -> None:
    ours = BpeTokenizer(import_model(json.dumps(FILES["byte level"]).encode()), dropout=0.5, seed=1)
    plain = ours.encode("hello hello")
    assert ours.encode("hello hello   ")[: len(plain)].tolist() == plain.tolist()
    assert ours.decode(ours.encode("hello   hello")) == b"hello   hello"


def test_scaffold_tokens_are_taken_apart_after_sampling() -> None:
    words = {b"abcabcabd": 7, b"abcd": 9, b"abce": 5, b"bcde": 3}
    trained = train(WeightedPieces.of_bytes(words), 264, scaffold=True)
    assert trained.scaffold.any()
    scaffold = model_of_training(trained, "none")
    forbidden = set(range(scaffold.id_limit, len(trained)))
    for dropout in (0.0, 0.3, 1.0):
        ours = BpeTokenizer(scaffold, dropout=dropout, seed=4)
        for text in (b"abcabcabdabce", b"abcd" * 9):
            ids = ours.encode(text)
            assert ours.decode(ids) == text
            assert not forbidden & set(ids.tolist())
    base = BpeTokenizer(scaffold, dropout=1.0).encode(b"abcd")
    assert base.tolist() == BpeTokenizer(scaffold).encode_batch([bytes([byte]) for byte in b"abcd"]).ids.tolist()


@given(st.text(BYTES + "hé", max_size=60))
def test_longest_match_takes_the_longest_token(text: str) -> None:
    ours = BpeTokenizer(MODEL, method="longest_match")
    tokens = {MODEL.vocabulary[token]: token for token in range(263)}
    data, expected = text.encode(), []
    while data:
        token = next(data[:size] for size in range(len(data), 0, -1) if data[:size] in tokens)
        expected.append(tokens[token])
        data = data[len(token) :]
    assert ours.encode(text).tolist() == expected
    assert any("not BPE" in note for note in ours.notes)


def test_longest_match_of_characters_falls_back_as_merging_does() -> None:
    for byte_fallback in (True, False):
        source = import_model(sentencepiece_data(2, byte_fallback=byte_fallback))
        ours = BpeTokenizer(source, method="longest_match")
        ids = {source.vocabulary[token]: token for token in range(source.id_limit)}
        rest = [ids[bytes([byte])] for byte in "é".encode()] if byte_fallback else [source.unknown]
        # "hell" is a piece, "hello" is none; an unknown run of two is one unknown piece.
        expected = [ids[b" "], ids[b"hell"], ids[b"o"], *rest * (2 if byte_fallback else 1), ids[b" w"]]
        assert ours.encode("helloéé w").tolist() == expected


def test_longest_match_is_another_algorithm() -> None:
    assert BpeTokenizer(MODEL, method="longest_match").encode("abcde").tolist() == [MODEL_ID[b"abcde"]]
    greedy = BpeTokenizer(model(b"bc", b"ab"), method="longest_match").encode("abc").tolist()
    assert (
        greedy
        != BpeTokenizer(model(b"bc", b"ab")).encode("abc").tolist()
        == oracle.encode_ranks(
            list(b"abc"), {**{byte: bytes([byte]) for byte in range(256)}, 256: b"bc", 257: b"ab"}, {256: 256, 257: 257}
        )
    )


MODEL_ID = {MODEL.vocabulary[token]: token for token in range(263)}
