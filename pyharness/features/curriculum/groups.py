"""Groups of tokens that a model predicts ever better, their counts, and the strings that they add."""

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
    counts: NDArray[np.uint64]  # [groups], occurrences of each

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[Ids]:
        return iter(np.split(self.ids, self.offsets[1:-1]) if len(self) else ())


class GroupCounter:
    """Counter of the distinct groups in batches of documents.

    The first token of a group may have any signal. Every later token has a signal below ``epsilon`` and not above that
    of the token before it, which may be the first. Groups are taken greedily from left to right, end where this fails,
    and have two tokens or more. Memory grows with the distinct groups; counts depend on neither threads nor batches.

    Source: docs/algorithms.md "Vocabulary curriculum".

    Args:
        epsilon: threshold in the unit of the signal (nats in the paper).
        strict: a later token's signal must be below that of the token before it.
        row_quantile: 0..1; upper limit of a document's threshold, as a quantile of its signals.
        id_limit: ids from here on (special tokens) are in no group and end one.
        max_bytes: memory limit of the counts.

    Raises:
        InputError: epsilon is not above 0, or the quantile is invalid.
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
            ids: uint8 or uint32 [tokens], concatenated documents.
            signal: float64 [tokens]: entropy of the prediction of each token, or its negative log-likelihood.
            offsets: int64 [documents + 1]. No group crosses the end of a document.
            threads: 1..1024.

        Raises:
            InputError: a signal is NaN, or lengths, offsets or threads do not fit: then nothing is counted. Or the
                distinct groups need more than ``max_bytes``: then the counter is unusable.
            TypeError: an array has another dtype.
        """
        with _native_errors():
            self._native.add(ids, signal, offsets, threads)

    @property
    def distinct(self) -> int:
        """Number of distinct groups."""
        return self._native.distinct()

    @property
    def total(self) -> int:
        """Number of groups counted, repeated ones included."""
        return self._native.total()

    def first(self, most: int, seed: int | None = None) -> Groups:
        """Return at most so many groups, by descending count, then descending number of tokens, then ids.

        With a seed the order is a pseudo-random function of the seed and the group.
        """
        return Groups(*self._native.first(most, seed))


class Addition(NamedTuple):
    """A new string of a vocabulary."""

    string: bytes
    last: int  # id of its last token


def expand(
    strings: Sequence[bytes], groups: Iterable[Iterable[int]], max_token_length: int | None = None
) -> list[Addition]:
    """Return the strings that groups add, in the order of their ids: all new prefixes of two tokens or more.

    Args:
        strings: the vocabulary of the groups: id -> string.
        groups: ids.
        max_token_length: in bytes; longer prefixes are left out.

    Raises:
        InputError: the strings exceed the limit of a vocabulary.
    """
    seen, size = set(strings), sum(map(len, strings))
    additions: list[Addition] = []
    for group in groups:
        first, *rest = map(int, group)
        string = strings[first]
        for token in rest:
            string += strings[token]
            if max_token_length is not None and len(string) > max_token_length:
                break
            if string not in seen:
                seen.add(string)
                additions.append(Addition(string, token))
                size += len(string)
                _check_room(len(seen), size)
    return additions


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
