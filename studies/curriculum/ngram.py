"""The tier without networks: symbol models of the tokens of each round, beside BPE and random groups of the same sizes.

It tests how tokens are grouped. It does not test the slope: counts of n-grams do not learn as a network does, and a
model of five tokens sees more text the longer the tokens are.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from curriculum import scoring
from curriculum.scoring import Passage, Sums, stretches
from pyharness.bpe import BpeTokenizer
from pyharness.features.curriculum import model as curriculum_model
from pyharness.features.curriculum.declarations import CurriculumOptions
from pyharness.features.curriculum.groups import expand
from pyharness.features.curriculum.model import CurriculumModel
from pyharness.features.curriculum.tokenizer import CurriculumTokenizer, FixpointEncoder
from pyharness.features.segmentation.symbol_models import SymbolModel
from pyharness.features.training import trainers
from pyharness.features.training.trainers import TrainingRequest
from pyharness.features.training.trainers.declarations import BpeOptions
from pyharness.types import HasVocabulary, InputError, Tokenizer, Tokens, offsets_of
from small_model.results import Key, Results
from small_model.texts import HeldOut, Texts, ordered

ROUNDS, PER_ROUND, ORDER, THREADS = 5, 3000, 5, 2
PARTS = ROUNDS + 1  # of the text: one for the symbols, and one for each round
EPSILONS = (0.1, 0.3, 0.5)
PUBLISHED_EPSILON = 0.3
GIVEN = 64  # bytes of a passage that are not scored, at its beginning
SYMBOLS, RANDOM = "bytes", "random groups"
BPE = {"BPE": "none", "BPE in pieces": "gpt2"}  # with split patterns
CURRICULUM = f"curriculum {PUBLISHED_EPSILON}"


@dataclass(frozen=True)
class Source:
    """A text: documents to learn from, and passages of held-out works."""

    name: str
    documents: Sequence[str]
    passages: Sequence[Passage]

    @classmethod
    def read(cls, name: str, specifications: Sequence[str], work_field: str, size: int, documents: int) -> Source:
        """Read corpora: ``size`` bytes of all, and so many held-out documents of each."""
        read = [Texts.read(one, documents, work_field) for one in specifications]
        texts = [text for one in read for text in (*one.before, *one.further)]
        held_out = [one.held_out for one in read]
        joined = HeldOut(
            *(tuple(x for one in held_out for x in getattr(one, part)) for part in ("texts", "groups", "opens"))
        )
        return cls(name, ordered(texts, size, seed=0), scoring.passages(joined, keep=str))

    def part(self, parts: int) -> Sequence[str]:
        """The first of ``PARTS`` parts, which are alike: documents are in random order."""
        return self.documents[: len(self.documents) * parts // PARTS]


def method(text: str, how: str, parts: int = PARTS) -> str:
    """Name of a row: the text, how tokens were made, and the share of the text that the symbol model was trained on."""
    return f"{text}: {how}, {parts}/{PARTS}"


@dataclass
class Tier:
    """Measures what is missing of a text."""

    source: Source
    results: Results
    seeds: int

    def run(self) -> None:
        """Curricula, then BPE and random groups at the sizes of one of them."""
        models = {epsilon: self._curriculum(epsilon) for epsilon in EPSILONS}
        for epsilon, model in models.items():
            self._score_all(f"curriculum {epsilon}", model)
        chosen = models[PUBLISHED_EPSILON]
        for number in range(ROUNDS + 1):
            if number < len(chosen.sizes):
                self._score(CURRICULUM, number, CurriculumTokenizer(chosen.truncated(chosen.sizes[number])), number + 1)
            self._score(SYMBOLS, 0, CurriculumTokenizer(chosen.truncated(chosen.sizes[0])), number + 1)
        for name, pattern in BPE.items():
            for number, size in enumerate(chosen.sizes[1:], 1):
                if not self._has(name, number):
                    self._score(name, number, self._bpe(size, pattern))
        for seed in range(self.seeds):
            if not self._has(RANDOM, len(chosen.sizes) - 1, seed=seed):
                self._score_all(RANDOM, self._random(chosen, seed), seed)

    def _has(self, how: str, number: int, parts: int = PARTS, seed: int = 0) -> bool:
        return Key(seed, method(self.source.name, how, parts), f"round {number}") in self.results.lines

    def _curriculum(self, epsilon: float) -> CurriculumModel:
        """The curriculum of the text; how it went is kept with its symbols."""
        name = f"curriculum {epsilon}"
        request = TrainingRequest(
            texts=lambda: self.source.documents, threads=THREADS,
            options=CurriculumOptions(rounds=ROUNDS, per_round=PER_ROUND, epsilon=epsilon, order=ORDER),
        )  # fmt: skip
        start = time.perf_counter()
        trained = trainers.train("curriculum", request)
        model = curriculum_model.load_bytes(next(iter(trained.files.values())), name)
        if not self._has(name, 0):
            seconds = round(time.perf_counter() - start, 2)
            about = {"rounds": trained.details["rounds"], "tokens": trained.details["tokens"], "seconds": seconds}
            self._score(name, 0, CurriculumTokenizer(model.truncated(model.sizes[0])), about=about)
        return model

    def _bpe(self, size: int, pattern: str) -> Tokenizer:
        request = TrainingRequest(
            texts=lambda: self.source.documents, options=BpeOptions(vocab_size=size, pattern=pattern), threads=THREADS
        )
        model = trainers.train("bpe", request).model
        assert model is not None  # of our own trainer
        if model.vocab_size < size:
            raise InputError(f"{self.source.name} gives BPE {model.vocab_size:,} tokens, not {size:,}: give more text")
        return BpeTokenizer(model)

    def _random(self, like: CurriculumModel, seed: int) -> CurriculumModel:
        """Groups at random places, as long as those of a curriculum, until there are as many strings in every round."""
        chance, model = random.Random(seed), like.truncated(like.sizes[0])
        for before, size in pairwise(like.sizes):
            new = like.strings[before:size]
            symbols, ends = np.frombuffer(b"".join(new), np.uint8), offsets_of([len(string) for string in new])
            lengths = np.diff(FixpointEncoder(like.strings[:before]).encode(symbols, ends).offsets).tolist()
            tokens = CurriculumTokenizer(model).encode_batch(self.source.documents, THREADS)
            strings = list(model.strings)
            while len(strings) < size:
                groups = [_drawn(tokens, max(2, chance.choice(lengths)), chance) for _ in range(256)]
                strings += [one.string for one in expand(strings, groups)]
            model = replace(model, strings=tuple(strings[:size]), sizes=(*model.sizes, size))
        return model

    def _score_all(self, how: str, model: CurriculumModel, seed: int = 0) -> None:
        for number, size in enumerate(model.sizes[1:], 1):
            self._score(how, number, CurriculumTokenizer(model.truncated(size)), seed=seed)

    def _score(
        self, how: str, number: int, tokenizer: Tokenizer, parts: int = PARTS, seed: int = 0,
        about: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Train a symbol model on a part of the text, in tokens, and score the passages."""
        if self._has(how, number, parts, seed):
            return
        start = time.perf_counter()
        documents = self.source.part(parts)
        tokens = tokenizer.encode_batch(documents)
        ids = _alphabet(tokenizer)
        model = SymbolModel.train([(tokens.ids, tokens.offsets)], ids, ORDER, THREADS)
        sums = score(model, tokenizer, self.source.passages)
        line = {
            "ids": ids, "tokens": len(tokens.ids), "bytes": sum(len(text.encode()) for text in documents),
            "model_seconds": round(time.perf_counter() - start, 2), **(about or {}), "fixed": sums,
        }  # fmt: skip
        name = method(self.source.name, how, parts)
        self.results.add({"seed": seed, "method": name, "stage": f"round {number}", **line})


def _alphabet(tokenizer: Tokenizer) -> int:
    """Ids of a tokenizer."""
    limit = tokenizer.id_limit
    assert limit is not None  # of our own
    return limit


def _drawn(tokens: Tokens, length: int, chance: random.Random) -> list[int]:
    """Neighbouring tokens of one document, at a random place."""
    while True:
        first = chance.randrange(max(1, len(tokens.ids) - length))
        end = tokens.offsets[int(np.searchsorted(tokens.offsets, first, "right"))]
        if first + length <= end:
            found: list[int] = tokens.ids[first : first + length].tolist()
            return found


def score(model: SymbolModel, tokenizer: Tokenizer, passages: Sequence[Passage]) -> Sums:
    """Nats and characters of each group: of the tokens that start behind what is given, and not near the end.

    Tokens may be parts of a character: what they have is counted in bytes, and made characters by the passage's ratio.
    """
    tokens = tokenizer.encode_batch([one.text for one in passages])
    nll = model.score(tokens.ids, tokens.offsets, THREADS).nll
    sizes = np.array([len(string) for string in _strings(tokenizer)])[tokens.ids]
    nats, characters = np.zeros(len(passages)), np.zeros(len(passages))
    for place, passage in enumerate(passages):
        part = slice(*tokens.offsets[place : place + 2])
        for _, first, end in stretches(sizes[part].tolist(), GIVEN, len(passage.text.encode())):
            nats[place] += nll[part][first:end].sum()
            characters[place] += sizes[part][first:end].sum() * len(passage.text) / len(passage.text.encode())
    groups = [one.group for one in passages]
    return {"nats": np.bincount(groups, nats).tolist(), "characters": np.bincount(groups, characters).tolist()}


def _strings(tokenizer: Tokenizer) -> Sequence[bytes]:
    assert isinstance(tokenizer, HasVocabulary)  # of our own
    vocabulary = tokenizer.vocabulary()
    return [vocabulary[token] or b"" for token in range(len(vocabulary))]
