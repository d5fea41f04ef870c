"""Groups of tokens that a model finds ever easier, how often each occurs, and the strings that they add."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.features.curriculum.model import MOST_BYTES
from pyharness.types import Ids, InputError, Offsets
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID

MOST_MEMORY = 4 << 30  # bytes of the tables of groups


@dataclass(frozen=True, slots=True)
class Groups:
    """Distinct groups, end to end."""

    ids: Ids  # uint32 [tokens of all groups]
    offsets: Offsets  # int64 [groups + 1]
    counts: NDArray[np.uint64]  # [groups], how often each occurs

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[Ids]:
        return iter(np.split(self.ids, self.offsets[1:-1]) if len(self) else ())


class GroupCounter:
    """Finds the groups of documents that come in batches, and counts the distinct ones.

    The first token of a group is free. Every later one has a signal below ``epsilon`` and not above that of the token
    before it, which may be the free one. Groups are taken greedily from left to right, end where that no longer holds,
    and have two tokens or more. Memory grows with the distinct groups; neither threads nor batches change a count.

    Source: docs/algorithms.md "Vocabulary curriculum".

    Args:
        epsilon: in the unit of the signal, nats in the paper.
        strict: a later token's signal is below that of the token before it.
        row_quantile: 0..1; the threshold of a document is no higher than this quantile of its signals.
        id_limit: ids from here on are in no group and end one: special tokens.
        max_bytes: what the counts may take.

    Raises:
        InputError: epsilon is not above 0, or the quantile is none.
    """

    def __init__(
        self, epsilon: float, *, strict: bool = False, row_quantile: float | None = None, id_limit: int | None = None,
        max_bytes: int = MOST_MEMORY,
    ) -> None:  # fmt: skip
        limit = np.iinfo(np.uint32).max if id_limit is None else id_limit
        with _native_errors():
            self._native = _core.GroupCounter(epsilon, strict, row_quantile, int(limit), max_bytes)

    def add(
        self, ids: NDArray[np.uint8] | Ids, signal: NDArray[np.float64], offsets: Offsets, threads: int = 1
    ) -> None:
        """Count the groups of documents.

        Args:
            ids: uint8 or uint32 [tokens], all documents end to end.
            signal: float64 [tokens]: entropy of the prediction of each token, or its negative log-likelihood.
            offsets: int64 [documents + 1]. No group crosses the end of a document.
            threads: 1..1024.

        Raises:
            InputError: a signal is not a number, lengths or offsets do not fit, or the distinct groups take more than
                ``max_bytes``; the counter is of no use then.
            TypeError: an array has another dtype.
        """
        with _native_errors():
            self._native.add(ids, signal, offsets, threads)

    @property
    def distinct(self) -> int:
        """How many groups differ."""
        return self._native.distinct()

    @property
    def total(self) -> int:
        """How many groups there were."""
        return self._native.total()

    def first(self, most: int, seed: int | None = None) -> Groups:
        """At most so many groups: by count, most frequent first, then by tokens, longest first, then by ids.

        With a seed they come in an order that is a function of the seed and the group alone, as if shuffled.
        """
        return Groups(*self._native.first(most, seed))


class Addition(NamedTuple):
    """A string that a vocabulary gains."""

    string: bytes
    last: int  # id of the token that completes it


def expand(
    strings: Sequence[bytes], groups: Iterable[Iterable[int]], max_token_length: int | None = None
) -> list[Addition]:
    """Strings that the groups add, in the order of their ids: all beginnings of two tokens or more that are new.

    Args:
        strings: the vocabulary: id -> string; the ids of groups are of it.
        groups: ids.
        max_token_length: in bytes; longer beginnings are left out.

    Raises:
        InputError: the strings take more than a vocabulary may.
    """
    known, size = set(strings), sum(map(len, strings))
    made: list[Addition] = []
    for group in groups:
        first, *rest = map(int, group)
        string = strings[first]
        for token in rest:
            string += strings[token]
            if max_token_length is not None and len(string) > max_token_length:
                break
            if string not in known:
                known.add(string)
                made.append(Addition(string, token))
                size += len(string)
                _check_room(len(known), size)
    return made


def _check_room(strings: int, size: int) -> None:
    if strings > BIGGEST_ID or size > MOST_BYTES:
        raise InputError(
            f"the vocabulary grows beyond {BIGGEST_ID:,} strings or {MOST_BYTES:,} bytes: take fewer groups a round "
            "(per_round), or shorter tokens (max_token_length)"
        )


@contextmanager
def _native_errors() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        advice = ": give less text, or a smaller epsilon" if "distinct groups" in str(error) else ""
        raise InputError(f"{error}{advice}") from None
