from __future__ import annotations

import json
import random
from collections import Counter
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layout.thoroughness import examples
from oracles import bpe as oracle
from pyharness.bpe import PieceCounter, TextSplitter, WeightedPieces, train
from pyharness.types import InputError, TieRule
from texts import read

DOCUMENTS = read("sample")[0]


def counted(pieces: WeightedPieces) -> list[tuple[bytes, int]]:
    data = pieces.symbols.astype(np.uint8).tobytes()
    return [
        (data[start:end], weight)
        for start, end, weight in zip(
            pieces.offsets[:-1].tolist(), pieces.offsets[1:].tolist(), pieces.weights.tolist(), strict=True
        )
    ]


def expected(splitter: TextSplitter, texts: list[str]) -> list[tuple[bytes, int]]:
    """In the order of first occurrence, as Counter keeps it."""
    return list(Counter(piece for text in texts for piece in splitter.split(text)).items())


@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "none", r"\w+|\W"])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_counts_and_order(pattern: str, threads: int) -> None:
    splitter, texts = TextSplitter(pattern), DOCUMENTS
    counter = PieceCounter(splitter)
    for start in range(0, len(texts), 37):
        counter.add(texts[start : start + 37], threads)
    assert counted(counter.pieces()) == expected(splitter, texts)


@given(st.lists(st.text(max_size=30), max_size=12), st.integers(1, 12), st.integers(1, 4))
def test_any_batches_and_threads(texts: list[str], size: int, threads: int) -> None:
    splitter = TextSplitter("cl100k")
    counter = PieceCounter(splitter)
    for start in range(0, len(texts), size):
        counter.add(texts[start : start + size], threads)
    assert counted(counter.pieces()) == expected(splitter, texts)


def test_training_equals_recounting_for_any_threads() -> None:
    """From texts on, random corpora for every tie rule: the order of the pieces decides ties of ``first_seen``."""
    splitter = TextSplitter("gpt2")
    for seed in range(examples(1000)):
        generator = random.Random(seed)
        letters = generator.choice(["ab ", "abc  ", "aé中 ", "ab\n "])
        texts = [
            "".join(generator.choices(letters, k=generator.randint(0, 20))) for _ in range(generator.randint(1, 9))
        ]
        words = expected(splitter, texts)
        pieces = {}
        for threads in (1, 2, 4):
            counter = PieceCounter(splitter)
            for start in range(0, len(texts), 3):
                counter.add(texts[start : start + 3], threads)
            pieces[threads] = counter.pieces()
            assert counted(pieces[threads]) == words, (seed, threads)
        size = 256 + generator.choice([3, 12, 40])
        for ties in get_args(TieRule):
            vocabulary, rules = oracle.train(dict(words), size, ties)
            for threads, given_ in pieces.items():
                model = train(given_, size, tie_rule=ties)
                assert [tuple(rule) for rule in model.rules.tolist()] == rules, (seed, ties, threads)
                assert [model[token] for token in range(len(model))] == list(vocabulary.values()), (seed, ties, threads)


def test_pieces_of_every_length_to_the_ends_of_texts() -> None:
    """Pieces of up to 15 bytes and longer ones are kept apart, and a text may end before 16 bytes can be read."""
    texts = ["x" * length for length in range(1, 70)] + ["a" + "y" * length for length in range(70)]
    texts += [f"{number} " * 3 for number in range(20_000)]  # more than one table holds at first
    splitter = TextSplitter("whitespace")
    for threads in (1, 2, 3):
        counter = PieceCounter(splitter)
        for start in range(0, len(texts), 7001):
            counter.add(texts[start : start + 7001], threads)
        assert counted(counter.pieces()) == expected(splitter, texts)


def test_nothing_counted() -> None:
    pieces = PieceCounter(TextSplitter("gpt2")).pieces()
    assert counted(pieces) == []
    assert not train(pieces, 300).complete


@pytest.mark.parametrize("pattern", ["none", ".+"])
def test_pieces_that_take_too_much_are_refused(pattern: str) -> None:
    counter = PieceCounter(TextSplitter(pattern), max_bytes=1 << 20)
    with pytest.raises(InputError, match=r"pieces.* 1048576 bytes"):
        counter.add([f"{number} " * 3000 for number in range(400)])


@pytest.mark.parametrize("pattern", ["whitespace", r"\b\w+"])
@pytest.mark.parametrize("threads", [1, 3])
def test_one_text_is_refused_before_its_end_and_half_a_count_is_not_told(threads: int, pattern: str) -> None:
    counter = PieceCounter(TextSplitter(pattern), max_bytes=1 << 20)
    with pytest.raises(InputError, match=r"pieces.* 1048576 bytes"):
        counter.add([" ".join(map(str, range(200_000)))], threads)
    with pytest.raises(InputError, match="distinct pieces"):
        counter.add(["a"])
    with pytest.raises(ValueError, match="distinct pieces"):
        counter.pieces()


def test_counting_goes_on_after_pieces() -> None:
    """What one thread found is moved to another's table then, and takes no more of ``max_bytes``."""
    splitter = TextSplitter("gpt2")
    counter = PieceCounter(splitter, max_bytes=3 << 20)
    for start in range(0, len(DOCUMENTS), 37):
        counter.add(DOCUMENTS[start : start + 37], threads=4)
        assert counted(counter.pieces()) == expected(splitter, DOCUMENTS[: start + 37])


def test_bad_input() -> None:
    with pytest.raises(InputError, match=r"max_bytes.* 0\b"):
        PieceCounter(TextSplitter("gpt2"), max_bytes=0)
    for pattern in ("gpt2", r"\b\w+"):
        counter = PieceCounter(TextSplitter(pattern))
        with pytest.raises(ValueError, match="threads"):
            counter.add(["a"], threads=0)
        with pytest.raises(TypeError):
            counter.add([1])  # type: ignore[list-item]
        with pytest.raises(ValueError, match="surrogates"):
            counter.add(["\ud800"])


def byte_level_alphabet() -> list[int]:
    """Bytes in the order of the characters that stand for them in byte-level BPE files, which is that of their ids."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return printable + others  # those that are not printable stand above U+0100, in their own order


def test_training_on_text_equals_tokenizers() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    order = byte_level_alphabet()
    place = np.argsort(np.array(order))
    for seed in range(5):
        texts = random.Random(seed).sample(DOCUMENTS, 120)
        theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
        theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=900, initial_alphabet=alphabet, min_frequency=2, show_progress=False
        )
        theirs.train_from_iterator(texts, trainer)
        characters = {
            chr(byte) if position < 188 else chr(256 + position - 188): byte for position, byte in enumerate(order)
        }
        merges = [
            tuple(bytes(characters[character] for character in part) for part in pair)
            for pair in json.loads(theirs.to_str())["model"]["merges"]
        ]
        counter = PieceCounter(TextSplitter("gpt2"))
        counter.add(texts, threads=2)
        bytes_ = counter.pieces()
        pieces = WeightedPieces(
            place[bytes_.symbols].astype(np.uint32), bytes_.offsets, bytes_.weights,
            np.array(order, np.uint8), bytes_.data_offsets,
        )  # fmt: skip
        model = train(pieces, 900, min_frequency=2)
        assert [(model[left], model[right]) for left, right, _ in model.rules.tolist()] == merges, seed
