"""An interpolated n-gram by its definition: every probability by recursion, every entropy a sum over the alphabet."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction


class SymbolModel:
    """Counts of every context of at most ``order - 1`` symbols in documents, and what follows from them."""

    def __init__(self, documents: Iterable[Sequence[int]], alphabet_size: int, order: int) -> None:
        self.alphabet_size, self.order = alphabet_size, order
        self.counts: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for document in documents:
            for place, symbol in enumerate(document):
                for length in range(min(place, order - 1) + 1):
                    self.counts[tuple(document[place - length : place])][symbol] += 1

    def probability(self, symbol: int, context: tuple[int, ...], one: float | Fraction = 1.0) -> float | Fraction:
        """Witten and Bell (1991), method C, down to the uniform distribution; of a ``Fraction`` it is exact."""
        shorter = self.probability(symbol, context[1:], one) if context else one / self.alphabet_size
        if context not in self.counts:
            return shorter
        seen = self.counts[context]
        return (seen[symbol] + len(seen) * shorter) / (seen.total() + len(seen))

    def probabilities(self, before: Sequence[int]) -> list[float]:
        """Of every symbol after these."""
        return [float(self.probability(symbol, self.context(before))) for symbol in range(self.alphabet_size)]

    def context(self, before: Sequence[int]) -> tuple[int, ...]:
        return tuple(before[max(0, len(before) - self.order + 1) :])

    def entropy(self, before: Sequence[int]) -> float:
        return math.fsum(-p * math.log(p) for p in self.probabilities(before) if p > 0)

    def exact_entropy(self, before: Sequence[int]) -> float:
        """The same without loss, however near to 0 it is."""
        terms = []
        for symbol in range(self.alphabet_size):
            p = self.probability(symbol, self.context(before), Fraction(1))
            terms.append(-float(p) * (math.log1p(float(p - 1)) if p > 0.5 else math.log(p)))
        return math.fsum(terms)

    def score(self, document: Sequence[int]) -> tuple[list[float], list[float], float]:
        """Entropy before every symbol, its negative logarithm, and the entropy after the last, in nats."""
        known: dict[tuple[int, ...], tuple[float, list[float]]] = {}
        places = []
        for place in range(len(document) + 1):
            context = self.context(document[:place])
            if context not in known:
                known[context] = self.entropy(context), self.probabilities(context)
            places.append(known[context])
        nll = [-math.log(chances[symbol]) for symbol, (_, chances) in zip(document, places, strict=False)]
        entropies = [entropy for entropy, _ in places]
        return entropies[:-1], nll, entropies[-1]


@dataclass(frozen=True)
class Case:
    """A model to train, and documents to score: some of its own, some of other symbols."""

    alphabet_size: int
    order: int
    documents: list[list[int]]
    scored: list[list[int]]


ALPHABETS = (1, 2, 3, 7, 20, 100, 256, 257, 1000, 4000)
BUDGET = 6000  # symbols that the reference looks at for a case: places times alphabet


def random_case(seed: int) -> Case:
    chance = random.Random(seed)
    size, order = chance.choice(ALPHABETS), 1 + seed % 5
    used = chance.randint(1, size)
    steepness = chance.choice((1, 3, 6))

    def symbol() -> int:
        return int(chance.random() ** steepness * used)

    documents = [
        [symbol() for _ in range(chance.choice((0, 1, 2, order, 30, 300)))] for _ in range(chance.randint(1, 6))
    ]
    documents.append([symbol()])
    places = min(60, max(4, BUDGET // size))
    chosen = chance.choice(documents)
    scored = [chosen[: places // 2], [], [chance.randrange(size) for _ in range(places // 4)]]
    return Case(size, order, documents, [*scored, [symbol() for _ in range(places // 4)]])
