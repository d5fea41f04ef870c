"""Trains and scores the networks of every seed; what a file of results has is not done again."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

from curriculum import bodies, rows, scoring, training
from curriculum.scoring import Passage, Sums
from curriculum.tiers import Tier
from curriculum.training import Cut
from curriculum.vocabulary import Grown
from pyharness.types import InputError
from small_model import networks
from small_model.networks import Recipe
from small_model.results import Key, Results

PROBED = {times << power for power in range(16) for times in (1, 3)}  # steps after which a few windows are scored
FIXED, GROWN = "fixed", "grown"
OF_GROWTH = ("new", "growth", "grouping_seconds")  # what the line of the arm that chooses has beside
CHOOSES = f"{rows.METHODS[0]} {FIXED}"  # the arm whose entropy decides the vocabularies of its seed
ARMS = tuple(f"{method} {body}" for body in (FIXED, GROWN) for method in rows.METHODS)
BASE = "characters"
ON, ON_GROWN, ON_BYTES = "characters, on", "characters, on, grown", "characters, on, equal bytes"
SCRATCH, SCRATCH_BYTES = "characters from scratch", "characters from scratch, equal bytes"
MATCHED, AT_FLOOR = "matched from scratch", "matched from scratch, published schedule"


class Arm(NamedTuple):
    """What becomes of a base in every round."""

    name: str
    method: str  # of new rows; empty: the vocabulary stays
    grows: bool  # the body
    equal_bytes: bool = False  # as many as the arm that chooses has read, in place of as many tokens


@dataclass
class Study:
    """The networks of a seed."""

    tier: Tier
    text: str
    passages: Sequence[Passage]
    alphabet: Grown
    results: Results
    seed: int
    vocabularies: list[Grown] = field(default_factory=list)

    def begin(self) -> None:
        """Train the base."""
        if not self._has(BASE, 0):
            self._base  # noqa: B018 - measures

    def grow(self) -> None:
        """Grow the base in every way."""
        for name in ARMS:
            method, body = name.split()
            if method in self.tier.methods and (self.tier.keys is not None or body == FIXED):
                self._chain(Arm(name, method, body == GROWN))

    def go_on(self) -> None:
        """Train the base in the same rounds, without new tokens."""
        self._chain(Arm(ON, "", False))
        self._chain(Arm(ON_BYTES, "", False, equal_bytes=True))
        if self.tier.keys is not None:
            self._chain(Arm(ON_GROWN, "", True))

    def match(self) -> None:
        """Train a new network with the vocabulary of each round, for as many steps; the rate falls over all of them."""
        for number in reversed(self._rounds()):
            self._scratch(MATCHED, number, self._vocabulary(number), self._total(number))

    def match_characters(self) -> None:
        """Train a new network of characters as long as all rounds, by tokens and by text; the rate falls all along."""
        for number in self._rounds()[-1:]:
            self._scratch(SCRATCH, number, self.alphabet, self._total(number))
            self._scratch(SCRATCH_BYTES, number, self.alphabet, self._total(number, equal_bytes=True))

    def match_as_published(self) -> None:
        """Train as ``match`` does, but the rate falls over the steps of the base and then stays, as published."""
        floor = replace(self.tier.recipe, falls_over=self.tier.steps[0])
        for number in reversed(self._rounds()):
            self._scratch(AT_FLOOR, number, self._vocabulary(number), self._total(number), floor)

    def _has(self, method: str, number: int) -> bool:
        return Key(self.seed, method, f"round {number}") in self.results.lines

    def _rounds(self) -> list[int]:
        return [number for number in range(1, len(self.tier.sizes) + 1) if self._has(CHOOSES, number)]

    def _line(self, method: str, number: int) -> Mapping[str, Any]:
        return self.results.lines[Key(self.seed, method, f"round {number}")]

    def _total(self, number: int, equal_bytes: bool = False) -> int:
        """Steps of the base and of so many rounds."""
        return self.tier.steps[0] + sum(self._steps(one, equal_bytes) for one in range(1, number + 1))

    def _steps(self, number: int, equal_bytes: bool) -> int:
        read = self._line(CHOOSES, number)["characters"] if equal_bytes else 0
        return round(read / (self.tier.shape.batch * self.tier.shape.context)) if equal_bytes else self.tier.steps[1]

    def _vocabulary(self, number: int) -> Grown:
        """Vocabulary after a round, from the line of the arm that chose it."""
        strings = self.alphabet.strings
        for one in range(1, number + 1):
            strings = (*strings, *self._line(CHOOSES, one)["new"])
        return _shared(strings)

    def _cut(self, vocabulary: Grown) -> Cut:
        return _cut_once(vocabulary, self.text)

    def _chance(self, number: int, use: int = 0) -> np.random.Generator:
        return np.random.default_rng((self.seed, number, use))

    def _fresh(self, vocabulary: Grown) -> Any:
        shape, ids = self.tier.shape, len(vocabulary.strings)
        network = networks.fresh(shape, ids, 0, self.seed, self.tier.dropout)
        if self.tier.keys is not None:
            bodies.give_body(network, self.tier.keys[0])
        for embedding, times in zip((network.transformer.wte, network.transformer.wpe), self.tier.wider, strict=True):
            embedding.weight.data *= times
        for name, one in network.named_parameters():  # biases begin as 0
            one.requires_grad_(self.tier.biases or not name.endswith("bias"))
        return network.to(self.tier.device)

    @cached_property
    def _base(self) -> Any:
        """The network of characters that all rounds begin with; it must be the one that was scored."""
        network, cut = self._fresh(self.alphabet), self._cut(self.alphabet)
        about = training.train(network, cut, self.tier, self.tier.steps[0], self._chance(0))
        sums = self._score(network, self.alphabet)
        if not self._has(BASE, 0):
            self._keep(BASE, "round 0", network, self.alphabet, about)
        elif not np.allclose(self._line(BASE, 0)["fixed"]["nats"], sums["nats"], rtol=1e-5):
            raise InputError(
                f"the base of seed {self.seed} is not that of {self.results.path}, another machine's or version's; "
                "name another file with --results"
            )
        return network

    def _chain(self, arm: Arm) -> None:
        """Go on from the base, round by round; a chain that was ended begins again."""
        rounds = range(1, len(self.tier.sizes) + 1) if arm.name == CHOOSES else self._rounds()
        if all(self._has(arm.name, number) for number in rounds):
            return
        network, old = copy.deepcopy(self._base), self.alphabet
        for number in rounds:
            more: dict[str, Any] = {}
            new = old if not arm.method else self._grown(arm, number, network, old, more)
            if new is None:
                return
            steps = self._steps(number, arm.equal_bytes)
            self._round(arm, number, network, (old, new), steps, more)
            old = new

    def _grown(self, arm: Arm, number: int, network: Any, old: Grown, more: dict[str, Any]) -> Grown | None:
        """Vocabulary of a round, which one arm chooses and the others take over; None if there is nothing to add."""
        if self._has(CHOOSES, number):
            more |= {name: self._line(CHOOSES, number)[name] for name in OF_GROWTH if arm.name == CHOOSES}
            return self._vocabulary(number)
        start = time.perf_counter()
        groups, seen = training.found_groups(network, self._cut(old), self.tier, self._chance(number, 1))
        new = old.grow(groups, self.tier.sizes[number - 1])
        more["new"] = list(new.strings[len(old.strings) :])
        more["growth"] = seen
        more["grouping_seconds"] = round(time.perf_counter() - start, 2)
        return _shared(new.strings) if more["new"] else None

    def _round(
        self, arm: Arm, number: int, network: Any, vocabularies: tuple[Grown, Grown], steps: int, more: dict[str, Any]
    ) -> None:
        old, new = vocabularies
        probe = [one for place, one in enumerate(self.passages) if place % self.tier.probe_of == 0]
        before = _bits(self._score(network, old, probe))
        if arm.method:
            widened = self._rows(arm, number, network, vocabularies)
            rows.widen(network, widened)
        if arm.grows and self.tier.keys is not None:
            bodies.grow_body(network, self.tier.keys[1], self.seed * 100 + number)
            network.to(self.tier.device)
        more["grown"] = self._score(network, new)
        seen = [(0, _bits(self._score(network, new, probe)))]

        def watch(step: int) -> None:
            if step in PROBED or step == steps:
                seen.append((step, _bits(self._score(network, new, probe))))

        about = training.train(network, self._cut(new), self.tier, steps, self._chance(number), watch=watch)
        self._keep(arm.name, f"round {number}", network, new, {**about, "before": before, "probe": seen, **more})

    def _rows(self, arm: Arm, number: int, network: Any, vocabularies: tuple[Grown, Grown]) -> Any:
        old, new = vocabularies
        cut, context = self._cut(old), self.tier.shape.context
        count = self.tier.hidden_from if arm.method == "hidden" else 0
        picked = cut.windows(count, context, self._chance(number, 2))
        sample = ["".join(old.strings[token] for token in row) for row in picked]
        sample = [text for text in sample if len(old.encode(text)) <= context]  # cut elsewhere, it may have more
        return rows.new_rows(network, arm.method, old, new, sample, self.seed * 100 + number)

    def _scratch(self, name: str, number: int, vocabulary: Grown, steps: int, recipe: Recipe | None = None) -> None:
        """Train a new network for as many steps as base and rounds had, or as many as read as much text."""
        if not self._has(name, number):
            network = self._fresh(vocabulary)
            about = training.train(network, self._cut(vocabulary), self.tier, steps, self._chance(number, 3), recipe)
            self._keep(name, f"round {number}", network, vocabulary, about)

    def _score(self, network: Any, vocabulary: Grown, passages: Sequence[Passage] | None = None) -> Sums:
        """Nats and characters of all passages, or of some."""
        return scoring.fixed(network, vocabulary, passages or self.passages, self.tier.given, self.tier.scored)

    def _keep(self, method: str, stage: str, network: Any, vocabulary: Grown, about: Mapping[str, Any]) -> None:
        start = time.perf_counter()
        sums = {
            "fixed": self._score(network, vocabulary),
            "token_windows": scoring.by_tokens(network, vocabulary, self.passages, self.tier.shape.context),
        }
        facts = {
            "ids": len(vocabulary.strings),
            "weights": sum(one.numel() for one in network.parameters()),
            "scoring_seconds": round(time.perf_counter() - start, 2),
        }
        self.results.add({"seed": self.seed, "method": method, "stage": stage, **facts, **about, **sums})


def _bits(sums: Sums) -> float:
    return sum(sums["nats"]) / sum(sums["characters"]) / float(np.log(2))


@cache
def _shared(strings: tuple[str, ...]) -> Grown:
    """One object for each vocabulary, so that its pairs are found once."""
    return Grown(strings)


@cache
def _cut_once(vocabulary: Grown, text: str) -> Cut:
    return Cut(vocabulary, text)


def run(studies: Sequence[Study]) -> None:
    """Measure what is missing, of all seeds what matters most first."""
    phases = (
        Study.begin, Study.grow, Study.go_on, Study.match_characters, Study.match, Study.match_as_published,
    )  # fmt: skip
    for phase in phases:
        for study in studies:
            phase(study)
