"""Trains, adapts, trains on and scores the models of every seed; what a file of results has is not done again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from pyharness.features.adaptation.surgery import vocabulary_transfer
from pyharness.features.language_models.folder import ModelFolder
from pyharness.types import InputError
from small_model import networks
from small_model.networks import Shape
from small_model.results import BASE, BEFORE, SURGERY, TRAINED, Key, Results, wanted
from small_model.scoring import score
from small_model.texts import Texts, mixed, ordered
from small_model.vocabularies import Vocabulary

RATE, FURTHER_RATE = 1e-3, 5e-4


@dataclass(frozen=True)
class Study:
    """Everything but the seeds. ``base_bytes`` of text make a base, ``further_bytes`` each model that goes on."""

    shape: Shape
    english: Texts
    language: Texts
    base: Vocabulary
    extended: Vocabulary
    base_bytes: int
    further_bytes: int
    share: float  # of the language in the text of the base
    models: Path
    results: Results

    def run(self, seeds: Sequence[int], methods: Sequence[str]) -> None:
        """Measure what is missing."""
        for seed in seeds:
            keys = [key for key in wanted([seed], methods) if key not in self.results.lines]
            if keys:
                folder, about = self._base(seed)
                for key in [Key(seed, BASE, BEFORE), *keys]:
                    if key not in self.results.lines:
                        self._measure(key, folder, about)

    def _measure(self, key: Key, base: Path, about: dict[str, Any]) -> None:
        """Make one model and score it."""
        if key.stage != BEFORE:
            folder = base if key.method == BASE else self._adapted(key, base)
            folder, about = (folder, {}) if key.stage == SURGERY else self._trained(key, folder)
        else:
            folder = base
        vocabulary = self._vocabulary(key.method)
        start = time.perf_counter()
        sums = {
            name: score(folder, vocabulary, texts.held_out, self.base.ids)
            for name, texts in (("language", self.language), ("english", self.english))
        }
        about = {**about, "scoring_seconds": round(time.perf_counter() - start, 1)}
        self.results.add({**key._asdict(), "model": _digest(folder), **about, **sums})

    def _vocabulary(self, method: str) -> Vocabulary:
        return self.base if method == BASE else self.extended

    def _base(self, seed: int) -> tuple[Path, dict[str, Any]]:
        """Base of a seed, trained unless it is there; it must be the one that was scored."""
        folder = self.models / f"seed{seed}" / BASE
        english = (*self.english.before, *self.english.further)
        texts = mixed(english, self.language.before, self.base_bytes, self.share, seed)
        about = self._train(
            lambda: networks.fresh(self.shape, self.base.ids, self.base.beginning, seed), texts, self.base, RATE, folder
        )
        scored = self.results.lines.get(Key(seed, BASE, BEFORE))
        if scored and scored["model"] != _digest(folder):
            raise InputError(f"the base of seed {seed} in {folder} is not that of {self.results.path}; move one away")
        return folder, about

    def _adapted(self, key: Key, base: Path) -> Path:
        folder = base.parent / f"{key.method}-{SURGERY}"
        request = vocabulary_transfer.EmbeddingRequest(
            model=str(base), tokenizer=str(self.extended.path), old_tokenizer=str(self.base.path),
            method=cast(Literal["fvt", "mean", "random"], key.method), seed=key.seed,
        )  # fmt: skip
        if not folder.is_dir():
            vocabulary_transfer.embed(request, vocabulary_transfer.plan_embedding(request, folder), folder)
        return folder

    def _trained(self, key: Key, start: Path) -> tuple[Path, dict[str, Any]]:
        folder = start.parent / f"{key.method}-{TRAINED}"
        texts = ordered(self.language.further, self.further_bytes, key.seed)
        vocabulary = self._vocabulary(key.method)
        return folder, self._train(lambda: networks.loaded(start), texts, vocabulary, FURTHER_RATE, folder)

    def _train(
        self, begin: Callable[[], Any], texts: Sequence[str], vocabulary: Vocabulary, rate: float, folder: Path
    ) -> dict[str, Any]:
        """Train a network unless it is there; returns how that was."""
        if not folder.is_dir():
            network, stream, start = begin(), vocabulary.stream(texts), time.perf_counter()
            facts = {"bytes": sum(len(text.encode()) for text in texts), "tokens": len(stream) - 1}
            facts["steps"] = networks.train(network, stream, self.shape, rate)
            networks.save(network, {**facts, "seconds": round(time.perf_counter() - start, 1)}, folder)
        return networks.facts_of(folder)


def _digest(folder: Path) -> str:
    return ModelFolder.read(str(folder), folder).digest()
