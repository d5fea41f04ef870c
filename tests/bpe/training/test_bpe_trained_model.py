"""What a training gives, whatever its base symbols are."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.own_file import load_bytes, save_bytes
from pyharness.bpe.model.text_splitter import TextSplitter
from pyharness.bpe.training.piece_counter import PieceCounter
from pyharness.bpe.training.trained_model import model_of_training
from pyharness.bpe.training.trainer import WeightedPieces, train
from pyharness.types import InputError
from pyharness.vocabularies.patterns.syntax import Dialect
from pyharness.vocabularies.stages import SplitStep


@pytest.mark.parametrize("scaffold", [False, True])
def test_a_training_over_bytes_in_another_order(scaffold: bool) -> None:
    """The numbers of the bytes decide nothing where ties are broken by the bytes themselves."""
    words: dict[bytes, int] = {b"to be": 5, b"or": 9, "é中".encode(): 4, b"\xff\xfe": 3, b"to bear": 2}
    plain = WeightedPieces.of_bytes(words)
    order = np.random.default_rng(3).permutation(256)
    number = np.argsort(order).astype(np.uint32)  # of each byte
    other = dataclasses.replace(plain, symbols=number[plain.symbols], data=order.astype(np.uint8))
    first, second = (
        BpeTokenizer(model_of_training(train(pieces, 270, tie_rule=rule, scaffold=scaffold), "gpt2"))
        for pieces in (plain, other)
        for rule in ("smallest_ids" if scaffold else "lexicographic",)
    )
    text = b"to bear or not to be \xff\xfe\x00" + "é中é".encode()
    assert second.round_trip == "exact"
    assert second.decode(second.encode(text)) == text
    kept = BpeTokenizer(load_bytes(save_bytes(second.model), "kept"))
    assert kept.encode(text).tolist() == second.encode(text).tolist()
    if not scaffold:
        pieces = [[one.vocabulary()[int(token)] for token in one.encode(text)] for one in (first, second)]
        assert pieces[0] == pieces[1]
        assert len(pieces[0]) < len(text)


def test_a_trained_model_splits_as_its_training() -> None:
    r"""In fancy_regex \h is a hexadecimal digit, in regex a space."""
    splitter = TextSplitter(r"\h+|[^\h]+", dialect="fancy_regex")
    assert splitter.split("ab xy") == [b"ab", b" xy"] != TextSplitter(splitter.name).split("ab xy")
    counter = PieceCounter(splitter)
    counter.add(["ab xy"] * 3)
    model = model_of_training(train(counter.pieces(), 259), splitter)
    for kept in (model, load_bytes(save_bytes(model), "kept")):
        tokenizer = BpeTokenizer(kept)
        assert [tokenizer.vocabulary()[token] for token in tokenizer.encode("ab xy").tolist()] == [b"ab", b" xy"]
        assert tokenizer.stages().splits == (SplitStep(splitter.name, "fancy_regex"),)


@pytest.mark.parametrize(
    ("pattern", "dialect", "ran"),
    [
        ("gpt2", "regex", "fancy_regex"),
        (r"\d", "regex", "regex"),
        (r"\d", "oniguruma", "oniguruma"),
        (r"\b\w+", "fancy_regex", "regex"),
    ],
)
def test_stages_have_the_dialect_of_the_engine_that_runs(pattern: str, dialect: Dialect, ran: Dialect) -> None:
    trained = train(WeightedPieces.of_bytes({b"ab": 3}), 257)
    (step,) = BpeTokenizer(model_of_training(trained, TextSplitter(pattern, dialect=dialect))).stages().splits
    assert step.dialect == ran


@pytest.mark.parametrize("symbols", [[b"a", b"\xff"], [b"ab"], [b"a", b"b", b"a"]])
def test_base_symbols_that_are_neither_bytes_nor_characters_are_refused(symbols: list[bytes]) -> None:
    offsets = np.cumsum([0, *map(len, symbols)])
    data = np.frombuffer(b"".join(symbols), np.uint8)
    pieces = WeightedPieces(
        np.zeros(2, np.uint32), np.array([0, 2], np.int64), np.ones(1, np.uint64), data, offsets.astype(np.int64)
    )
    with pytest.raises(InputError, match="base symbol"):
        model_of_training(train(pieces, len(symbols)), "gpt2")
