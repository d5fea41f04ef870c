"""Short calls, as a gate times them: no peers, no real data. ``pytest bench/speed/test_short_calls.py``.

Models are trained here on text that comes with the package. Every benchmark asserts its result against a reference that
is slow and readable. ``pyharness gate --pytest`` measures two versions of these in turns. The fixture repeats a call on
the same text, so encoding finds its pieces in the cache; the suites of ``pyharness gate`` read new text in each call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from oracles import extending as extending_oracle
from oracles import pruning as pruning_oracle
from oracles import scaffold as scaffold_oracle
from pyharness import corpora
from pyharness.bpe import BpeTokenizer, PieceCounter, TextSplitter, TrainedBpe, WeightedPieces, model_of_training, train
from pyharness.features.adaptation.bpe.extension import extend
from pyharness.features.adaptation.bpe.pruning import leaf_order
from pyharness.types import DemolitionRule, Tally
from speed_fixtures import Benchmark

PATTERN = "gpt2"
VOCABULARY = 1024
CHARACTERS = 60_000  # that a vocabulary is made of
TEXTS = {
    "word": " internationalization",
    "sentence": "It was the best of times, it was the worst of times; Привет, 世界! 12,345",
    "kilobyte": ("def encode(text: str) -> list[int]:\n    return [ids[piece] for piece in split(text)]\n" * 12)[:1024],
}
DEMOLITIONS: Mapping[DemolitionRule, Callable[[scaffold_oracle.Scaffold, int], list[int]]] = {
    "eq6": scaffold_oracle.demolish,
    "shortest": lambda model, token: scaffold_oracle.shortest(model, model.vocabulary[token]),
}


@cache
def text() -> str:
    return "\n".join(corpora.open_corpus("sample").documents(Tally()))[:CHARACTERS]


@cache
def trained(scaffold: bool) -> TrainedBpe:
    counter = PieceCounter(TextSplitter(PATTERN))
    counter.add([text()], 1)
    return train(counter.pieces(), VOCABULARY, scaffold=scaffold)


@cache
def tokenizer(scaffold: bool) -> BpeTokenizer:
    return BpeTokenizer(model_of_training(trained(scaffold), PATTERN))


def explained(scaffold: bool) -> scaffold_oracle.Scaffold:
    """A trained model as the reference has it."""
    model = trained(scaffold)
    flagged = set(np.flatnonzero(model.scaffold).tolist()) if scaffold else set[int]()
    return scaffold_oracle.Scaffold(
        vocabulary={token: model[token] for token in range(len(model))},
        scaffold=flagged,
        rules=[(left, right, new) for left, right, new in model.rules.tolist()],
        parts={new: (left, right) for left, right, new in reversed(model.rules.tolist())},  # the first rule counts
    )


def expected(content: str, scaffold: bool) -> list[bytes]:
    """Bytes of each token of a text: by the rules, piece by piece; then scaffold tokens in their parts."""
    model = explained(scaffold)
    pieces = TextSplitter(PATTERN).split(content)
    return [model.vocabulary[token] for piece in pieces for token in scaffold_oracle.encode(model, piece)]


@pytest.mark.parametrize("scaffold", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_encode(benchmark: Benchmark, name: str, scaffold: bool) -> None:
    ids = benchmark(tokenizer(scaffold).encode, TEXTS[name])
    assert [tokenizer(scaffold).decode(ids[at : at + 1]) for at in range(len(ids))] == expected(TEXTS[name], scaffold)


@pytest.mark.parametrize("scaffold", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_decode(benchmark: Benchmark, name: str, scaffold: bool) -> None:
    ids = tokenizer(scaffold).encode(TEXTS[name])
    assert benchmark(tokenizer(scaffold).decode, ids) == TEXTS[name].encode()


@pytest.mark.parametrize("rule", DEMOLITIONS)
def test_demolition(benchmark: Benchmark, rule: DemolitionRule) -> None:
    ids, offsets = benchmark(trained(True).demolition, rule)
    model, rewritten = explained(True), DEMOLITIONS[rule]
    assert model.scaffold
    for token in range(len(model.vocabulary)):
        wanted = rewritten(model, token) if token in model.scaffold else [token]
        assert ids[offsets[token] : offsets[token + 1]].tolist() == wanted


def counted(text: str) -> WeightedPieces:
    counter = PieceCounter(TextSplitter(PATTERN))
    counter.add([text], 1)
    return counter.pieces()


def test_leaf_order(benchmark: Benchmark) -> None:
    model = model_of_training(trained(False), PATTERN)
    counts = np.bincount(tokenizer(False).encode(TEXTS["kilobyte"]), minlength=model.id_limit).astype(np.uint64)
    paths = {token: pruning_oracle.rule_path(list(model.vocabulary[token]), rules()) for token in range(model.id_limit)}
    order = benchmark(leaf_order, model, counts)
    expected = pruning_oracle.leaf_order(paths, dict(enumerate(counts.tolist())), range(256, model.id_limit))
    assert order.tolist() == expected


def test_extending(benchmark: Benchmark) -> None:
    model, pieces = model_of_training(trained(False), PATTERN), counted(TEXTS["sentence"])
    extension = benchmark(lambda: extend(model, pieces, 8, min_frequency=1))
    strings = {token: bytes(model.vocabulary[token]) for token in range(model.id_limit)}
    words = dict(zip(pieces_of(pieces), pieces.weights.tolist(), strict=True))
    _, learnt, _ = extending_oracle.continued(strings, rules(), words, 8)
    assert [tuple(rule) for rule in extension.rules.tolist()] == learnt
    assert extension.complete


def rules() -> list[tuple[int, int, int]]:
    return [(left, right, new) for left, right, new in trained(False).rules.tolist()]


def pieces_of(pieces: WeightedPieces) -> list[bytes]:
    data, ends = pieces.symbols.astype(np.uint8).tobytes(), pieces.offsets.tolist()
    return [data[start:end] for start, end in pairwise(ends)]
