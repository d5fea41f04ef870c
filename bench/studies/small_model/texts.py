"""The texts of the study: documents, each whole in one part, and the order in which a seed has them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

from pyharness import corpora
from pyharness.corpora.streaming import Read
from pyharness.statistics.jackknife import group_of
from pyharness.types import InputError, Tally

HELD_OUT_OF = 5  # one document in five is held out
BEGINNING_OF = 4  # of the others, one in four is what the model has seen of a language before it is adapted
DOCUMENTS, DOCUMENT_BYTES = 128, 1_000  # that are scored: the beginnings of so many


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What is scored."""

    texts: tuple[str, ...]
    groups: tuple[int, ...]  # of the jackknife


@dataclass(frozen=True, slots=True)
class Texts:
    """A corpus in three parts, which share no document; parts are decided by digests, and so is the order."""

    before: tuple[str, ...]  # read while the base is trained
    further: tuple[str, ...]  # for the extension and further training
    held_out: HeldOut
    digest: str  # of all that was read

    @classmethod
    def read(cls, specification: str, documents: int = DOCUMENTS) -> Texts:
        """Read a corpus.

        Raises:
            InputError: there is none, or a part of it is empty.
        """
        tally = Tally()
        read = sorted(corpora.read(corpora.open_corpus(specification), tally), key=lambda one: one.digest)
        held_out = [one for one in read if one.key[1] % HELD_OUT_OF == 0 and one.opens][:documents]
        kept = [one for one in read if one.key[1] % HELD_OUT_OF]
        before, further = (
            tuple(one.text for one in kept if (one.key[2] % BEGINNING_OF == 0) is seen) for seen in (True, False)
        )
        if not (held_out and before and further):
            raise InputError(f"corpus {specification!r} has too few documents for three parts: give more")
        return cls(before, further, _beginnings(held_out), f"{tally.digest:032x}")


def _beginnings(documents: Sequence[Read]) -> HeldOut:
    texts = (one.text.encode()[:DOCUMENT_BYTES].decode(errors="ignore") for one in documents)
    return HeldOut(tuple(texts), tuple(group_of(one.key) for one in documents))


def ordered(texts: Sequence[str], size: int, seed: int) -> list[str]:
    """Return so many bytes of texts, in the order of a seed; again from the first where there are too few."""
    order = list(texts)
    random.Random(seed).shuffle(order)
    return list(_first(cycle(order), size))


def _first(texts: Iterator[str], size: int) -> Iterator[str]:
    for text in texts:
        data = text.encode()
        yield text if len(data) <= size else data[:size].decode(errors="ignore")
        size -= len(data)
        if size <= 0:
            return


def mixed(main: Sequence[str], other: Sequence[str], size: int, share: float, seed: int) -> list[str]:
    """Return so many bytes of two corpora, of which the other has a share, in the order of a seed."""
    some = int(size * share)
    texts = [*ordered(main, size - some, seed), *(ordered(other, some, seed) if some else ())]
    random.Random(seed).shuffle(texts)
    return texts
