"""The texts of the study: documents, each whole in one part, and the order in which a seed has them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

from pyharness import corpora
from pyharness.corpora.streaming import Read
from pyharness.statistics.jackknife import group_of
from pyharness.types import Digest, InputError, Tally, digest_of

HELD_OUT_OF = 5  # one work in five is held out
BEGINNING_OF = 4  # of the others, one in four is what the model has seen of a language before it is adapted
DOCUMENTS, DOCUMENT_BYTES = 192, 500  # that are scored: the beginnings of so many, at most
SEQUENCE = 8  # words that look copied if they occur elsewhere, too


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What is scored."""

    texts: tuple[str, ...]
    groups: tuple[int, ...]  # of the jackknife
    opens: tuple[bool, ...]  # which are the first of a work: these are what an interval counts


@dataclass(frozen=True, slots=True)
class Texts:
    """A corpus in three parts, which share no work; parts and order are decided by digests."""

    before: tuple[str, ...]  # read while the base is trained
    further: tuple[str, ...]  # for the extension and further training
    held_out: HeldOut
    digest: str  # of all that was read

    @classmethod
    def read(cls, specification: str, documents: int = DOCUMENTS, work_field: str = "") -> Texts:
        """Read a corpus.

        Args:
            specification: of the corpus.
            documents: that are held out, at most.
            work_field: field of its rows that names the work of a document, up to a ``#``; empty: each is a work.

        Raises:
            InputError: there is none, or a part of it is empty.
        """
        tally = Tally()
        read = list(corpora.read(corpora.open_corpus(specification), tally))
        works = _works(specification, work_field) if work_field else [one.key for one in read]
        if len(works) != len(read):
            raise InputError(f"corpus {specification!r} has {len(read)} documents and {len(works)} works of them")
        once = {one.digest: (one, work) for one, work in zip(read, works, strict=True)}
        # By the end of a digest: its beginning decides group and part, and the first of these would be of few groups.
        order = sorted(once.values(), key=lambda pair: pair[0].digest[::-1])
        kept = [(one.text, work) for one, work in order if work[1] % HELD_OUT_OF]
        held_out = [pair for pair in order if pair[1][1] % HELD_OUT_OF == 0][:documents]
        before, further = (
            tuple(text for text, work in kept if (work[2] % BEGINNING_OF == 0) is seen) for seen in (True, False)
        )
        if not (held_out and before and further):
            raise InputError(f"corpus {specification!r} has too few documents for three parts: give more")
        return cls(before, further, _beginnings(held_out), f"{tally.digest:032x}")

    def copied(self) -> float:
        """Share of the sequences of words in the held-out text that occur in the other parts."""
        known = {sequence for text in (*self.before, *self.further) for sequence in _sequences(text)}
        asked = [sequence in known for text in self.held_out.texts for sequence in _sequences(text)]
        return sum(asked) / max(1, len(asked))


def _works(specification: str, field: str) -> list[Digest]:
    """Digest of each document's work."""
    named = f"{specification}{'&' if '?' in specification else '?'}field={field}"
    return [digest_of(name.partition("#")[0]) for name in corpora.open_corpus(named).documents(Tally())]


def _beginnings(documents: Sequence[tuple[Read, Digest]]) -> HeldOut:
    works = [work for _, work in documents]
    return HeldOut(
        tuple(one.text.encode()[:DOCUMENT_BYTES].decode(errors="ignore") for one, _ in documents),
        tuple(map(group_of, works)),
        tuple(work not in works[:place] for place, work in enumerate(works)),
    )


def _sequences(text: str) -> Iterator[int]:
    words = text.split()
    return (hash(tuple(words[start : start + SEQUENCE])) for start in range(len(words) - SEQUENCE + 1))


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
