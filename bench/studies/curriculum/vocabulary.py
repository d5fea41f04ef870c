"""A vocabulary that grows by groups of tokens that a model finds easy, and the encoder that goes with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

Group: TypeAlias = tuple[int, ...]  # ids


def groups(
    ids: Sequence[int], signal: Sequence[float], epsilon: float, row_quantile: float | None = None
) -> list[Group]:
    """Runs of tokens whose signal falls and lies below a threshold; the first token of a run is free.

    Args:
        ids: tokens of a row.
        signal: entropy of the prediction of each, nats [tokens].
        epsilon: nats.
        row_quantile: the threshold is this quantile of the row, if that is less than ``epsilon``.
    """
    if row_quantile is not None:
        epsilon = min(epsilon, float(np.quantile(signal, row_quantile)))
    found, start = [], 0
    for place in range(1, len(ids) + 1):
        if place == len(ids) or not (signal[place] < epsilon and signal[place] <= signal[place - 1]):
            if place - start > 1:
                found.append(tuple(ids[start:place]))
            start = place
    return found


@dataclass(frozen=True)
class Grown:
    """Strings of tokens, an id each; the first ones are characters."""

    strings: tuple[str, ...]

    @cached_property
    def ids(self) -> dict[str, int]:
        """Id of every string."""
        return {string: token for token, string in enumerate(self.strings)}

    @cached_property
    def pairs(self) -> dict[tuple[int, int], int]:
        """What two neighbouring tokens become, where their join is a token."""
        ids = self.ids
        splits = ((token, string, cut) for token, string in enumerate(self.strings) for cut in range(1, len(string)))
        return {
            (ids[string[:cut]], ids[string[cut:]]): token
            for token, string, cut in splits
            if string[:cut] in ids and string[cut:] in ids
        }

    def encode(self, text: str) -> list[int]:
        """Absorb what follows while each join is a token, then look one token back: until nothing changes.

        Raises:
            KeyError: a character is no token.
        """
        pairs, waiting = self.pairs, [self.ids[one] for one in reversed(text)]
        done: list[int] = []
        while waiting:
            token, grew = waiting.pop(), False
            while True:
                while waiting and (token, waiting[-1]) in pairs:
                    token, grew = pairs[token, waiting.pop()], True
                if not (grew and done and (done[-1], token) in pairs):
                    break
                token = pairs[done.pop(), token]
            done.append(token)
        return done

    def grow(self, found: Iterable[Group], size: int) -> Grown:
        """Add all left prefixes of groups, most frequent groups first, until there are ``size`` strings.

        Groups of one count come longest first, then in the order of their ids. Strings that are there stay one.
        """
        counts = Counter(found)
        order = sorted(counts, key=lambda group: (-counts[group], -len(group), group))
        strings = dict.fromkeys(self.strings)
        for group in order:
            prefix = self.strings[group[0]]
            for token in group[1:]:
                prefix += self.strings[token]
                strings.setdefault(prefix)
        return Grown(tuple(strings)[: max(size, len(self.strings))])
