"""A symbol model is read as it was written; anything else than that is refused in one line."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from oracles.symbol_model import random_case
from pyharness.features.segmentation.symbol_models import SymbolModel, SymbolTrie, parts_of
from pyharness.types import InputError, Tokens

HEADER = 64 + 32


def model_of(documents: list[list[int]], alphabet_size: int, order: int) -> SymbolModel:
    tokens = Tokens.from_lists(documents)
    return SymbolModel.train([(tokens.ids, tokens.offsets)], alphabet_size, order)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A small model over four symbols."""
    path = tmp_path / "small.symbols"
    model_of([[0, 1, 2, 0, 1, 3], [1, 1]], 4, 3).save(path)
    return path


def refusal(path: Path, alphabet_size: int | None = None) -> str:
    with pytest.raises(InputError) as caught:
        SymbolModel.load(path, alphabet_size)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("seed", range(30))
def test_models_are_read_back(tmp_path: Path, seed: int) -> None:
    case = random_case(seed)
    model = model_of(case.documents, case.alphabet_size, case.order)
    model.save(tmp_path / "model")
    again = SymbolModel.load(tmp_path / "model", case.alphabet_size)
    assert (again.digest, again.alphabet_size, again.order) == (model.digest, case.alphabet_size, case.order)
    assert again.distinct_ngrams == model.distinct_ngrams
    tokens = Tokens.from_lists(case.scored)
    for one, other in zip(_arrays(model, tokens), _arrays(again, tokens), strict=True):
        assert one.tobytes() == other.tobytes()


def _arrays(model: SymbolModel, tokens: Tokens) -> list[NDArray[np.float64]]:
    scores = model.score(tokens.ids, tokens.offsets)
    return [scores.entropy, scores.nll, scores.next_entropy]


def test_counts_of_more_than_32_bits_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "many"
    counts = np.array([1 << 40, 3], np.uint64)
    trie = SymbolTrie(2, np.array([2], np.uint64), np.array([0, 1], np.uint32), counts, np.array([], np.uint32))
    path.write_bytes(b"".join(parts_of(trie)))
    assert SymbolModel.load(path).probabilities([])[1] == pytest.approx(4 / ((1 << 40) + 5), rel=1e-14)


def test_every_truncation_is_refused(saved: Path) -> None:
    content = saved.read_bytes()
    for length in range(len(content)):
        saved.write_bytes(content[:length])
        assert "cut off" in refusal(saved) or length < 8
    saved.write_bytes(content + b"\0")
    assert "after its end" in refusal(saved)


def test_every_flipped_bit_is_refused(saved: Path) -> None:
    content = saved.read_bytes()
    for place in range(8 * len(content)):
        altered = bytearray(content)
        altered[place // 8] ^= 1 << place % 8
        saved.write_bytes(altered)
        refusal(saved)


def test_sizes_are_checked_before_memory_is_taken(saved: Path) -> None:
    content = bytearray(saved.read_bytes())
    content[24:32] = (4_000_000_000).to_bytes(8, "little")  # entries of the first level
    saved.write_bytes(content)
    assert "cut off" in refusal(saved)
    content[24:32] = b"\xff" * 8
    saved.write_bytes(content)
    assert "header" in refusal(saved)


def test_another_alphabet_is_refused(saved: Path) -> None:
    assert re.search("4 symbols.*256", refusal(saved, 256))
    assert SymbolModel.load(saved, 4).alphabet_size == 4


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    assert "not a file" in refusal(tmp_path)
    assert "not a file" in refusal(tmp_path / "missing")
    text = tmp_path / "text"
    text.write_text("To be, or not to be")
    assert "not a symbol model" in refusal(text)


def test_a_file_that_exists_is_kept(saved: Path) -> None:
    content = saved.read_bytes()
    model = model_of([[1]], 2, 1)
    with pytest.raises(InputError, match=f"{re.escape(str(saved))}.*--force"):
        model.save(saved)
    assert saved.read_bytes() == content
    model.save(saved, overwrite=True)
    assert SymbolModel.load(saved).digest == model.digest


def altered(trie: SymbolTrie, chance: random.Random) -> SymbolTrie:
    """A trie with a number or two that are not those of a text."""
    arrays = [array.copy() for array in trie[1:]]
    for _ in range(chance.randint(1, 2)):
        array = chance.choice([array for array in arrays if len(array)])
        place = chance.randrange(len(array))
        largest = np.iinfo(array.dtype).max
        array[place] = chance.choice([0, 1, 2, 3, min(int(array[place]) + 1, largest), (1 << 32) - 1, largest])
    return SymbolTrie(trie.alphabet_size, *arrays)  # type: ignore[arg-type]


def test_counts_that_no_text_has_are_refused_whatever_their_digest(tmp_path: Path) -> None:
    """Where a change goes unnoticed it is another model, and not memory that is not ours."""
    path, refused = tmp_path / "made-up", 0
    for seed in range(600):
        chance = random.Random(seed)
        case = random_case(seed % 20)
        trie = model_of(case.documents, case.alphabet_size, case.order)._trie
        path.write_bytes(b"".join(parts_of(altered(trie, chance))))
        tokens = Tokens.from_lists(case.scored)
        try:
            model = SymbolModel.load(path)
        except InputError as error:
            refused += str(path) in str(error)
        else:
            assert all(np.isfinite(values).all() for values in _arrays(model, tokens))
    assert refused > 300


@pytest.mark.parametrize(
    ("order", "changes", "reason"),
    [
        (1, {"symbols": [0, 1, 4]}, "not of the alphabet"),
        (1, {"symbols": [1, 0, 2]}, "not in order"),
        (1, {"counts": [2, 0, 1]}, "does not occur"),
        (1, {"counts": [2, (1 << 64) - 1, 1]}, "64 bits"),
        (2, {"symbols": [0, 1, 2, 3, 2, 0]}, "an n-gram without its own end"),
        (2, {"counts": [2, 1, 1, 5, 1, 1]}, "more frequent than its own end"),
        (2, {"children": [1, 3, 1]}, "more n-grams follow than there are"),
        (2, {"children": [1, 0, 1]}, "more n-grams than follow"),
        (3, {"symbols": [0, 1, 2, 1, 0, 2, 2, 0], "children": [1, 0, 2, 1, 1, 0]}, "a context without its own end"),
    ],
)
def test_the_reason_is_said(tmp_path: Path, order: int, changes: dict[str, list[int]], reason: str) -> None:
    trie = model_of([[0, 1, 2, 0]], 4, order)._trie
    arrays = {name: np.array(values, getattr(trie, name).dtype) for name, values in changes.items()}
    path = tmp_path / "made-up"
    path.write_bytes(b"".join(parts_of(SymbolTrie(**{**trie._asdict(), **arrays}))))
    assert reason in refusal(path)
