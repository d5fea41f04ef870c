"""Two tokenizers compared: their definitions, their ids on texts, and witnesses for each cause of a difference."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.corpora import open_corpus
from pyharness.corpora.streaming import batches, keyed
from pyharness.features.audit.differences.changes import Change, Kind, NewIds, changes, id_map
from pyharness.features.audit.differences.sides import Encoder, Reading, Side, differing, same, unequal
from pyharness.features.audit.differences.witnesses import (
    MOST_ATTRIBUTED,
    Cause,
    Witness,
    candidates,
    cause_of,
    witness,
)
from pyharness.system.threads import in_order
from pyharness.types import ParallelCorpus, Tally, Tokens

DEFAULT_TEXTS = (
    "sample:prose", "sample:dialogue", "sample:numbers", "sample:code", "sample:unicode", "sample:parallel",
)  # fmt: skip
_CHARACTERS = 1 << 20  # of a batch
_OF_GROUP = 60  # texts of a group that differ, whose cause is determined
_ENOUGH = 1 << 12  # texts of a group that differ, to choose these from
_MOST_KEPT = 1 << 21  # characters of documents that are kept to explain them
_HEAD = 1 << 12  # characters of a document that explain it, if ids differ in them
_Batch: TypeAlias = Sequence[tuple[str, str]]  # of texts with their labels
_Use: TypeAlias = "NDArray[np.int64]"  # how often each id occurs in the texts of a comparison: [ids]


@dataclass(slots=True)
class TextCount:
    """Counts of one text, or of one language of aligned text."""

    text: str
    documents: int = 0
    differing: int = 0
    bytes: int = 0
    first: int = 0  # tokens
    second: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class TokenizerComparison:
    """All that differs between two tokenizers."""

    first: Side
    second: Side
    changes: Sequence[Change]
    counts: Mapping[Kind, int]  # of all changes, of which ``changes`` has some
    ids: NewIds
    used: tuple[float, float] | None  # share of the tokens of each side's ids that the other has; None: no ids
    texts: Sequence[TextCount]
    causes: Mapping[Cause, int]  # of the documents that differ, and were explained
    witnesses: Sequence[Witness]
    tried: int  # texts made to differ
    readings: tuple[Reading, ...]

    @property
    def same_definition(self) -> bool:
        """Whether files and library say the same: then all ids are equal, whatever the text."""
        return not self.changes and same(self.first, self.second)

    @property
    def equal(self) -> bool:
        """Whether no text was found on which ids differ."""
        return not self.witnesses and not any(count.differing for count in self.texts)


@dataclass(slots=True)
class DifferingTexts:
    """The first documents that differ: as many as are explained."""

    documents: list[str] = field(default_factory=list)
    characters: int = 0

    def add(self, text: str) -> None:
        """Keep a document while there is room."""
        if len(self.documents) < MOST_ATTRIBUTED and self.characters + len(text) <= _MOST_KEPT:
            self.documents.append(text)
            self.characters += len(text)


def compare(first: Side, second: Side, corpora: Sequence[str] = (), threads: int = 1) -> TokenizerComparison:
    """Compare two sides on texts, and on texts that are made from what changed.

    Raises:
        InputError: a corpus cannot be read.
    """
    use = [np.zeros(side.tokenizer.id_limit, np.int64) for side in (first, second)]
    kept = DifferingTexts()
    counts = [count for name in corpora for count in count_texts(first, second, name, threads, kept, use)]
    differences = changes(first.definition, second.definition)
    readings = tuple(reading for reading in first.readings if reading in second.readings)
    starts, tried = _starts(first, second, differences.listed, readings)
    causes: Counter[Cause] = Counter()
    for document in kept.documents:
        for text in (document[:_HEAD], document):
            if (cause := cause_of(first, second, text, "plain")) is not None:
                causes[cause] += 1
                starts.setdefault(cause, []).append(text)
                break
    witnesses = [witness(first, second, texts, cause) for cause, texts in _without_repeats(starts).items()]
    ids = id_map(first.definition, second.definition)
    back = id_map(second.definition, first.definition)
    used = (ids.used_share(use[0]), back.used_share(use[1])) if use[0].any() and use[1].any() else None
    return TokenizerComparison(
        first, second, differences.listed, differences.counts, ids, used, counts, dict(causes.most_common()),
        sorted(witnesses, key=lambda one: (one.cause.reading, one.cause.stage, one.cause.name)), tried, readings,
    )  # fmt: skip


def _starts(
    first: Side, second: Side, listed: Sequence[Change], readings: Sequence[Reading]
) -> tuple[dict[Cause, list[str]], int]:
    """Return texts made to differ that do, by their cause, and the number of texts tried."""
    groups = {} if not listed and same(first, second) else candidates(first, second, listed)
    starts: dict[Cause, list[str]] = {}
    tried = 0
    for texts in groups.values():
        counts = [0]
        for reading in readings:
            some, count = _differing(first, second, texts, reading)
            counts.append(count)
            for text in _choose(some):
                if (cause := cause_of(first, second, text, reading)) is not None:
                    starts.setdefault(cause, []).append(text)
        tried += max(counts)
    return starts, tried


def _differing(first: Side, second: Side, texts: Sequence[str], reading: Reading) -> tuple[list[str], int]:
    """Return texts that differ, and how many were tried: parts from all over, until enough differ."""
    some: list[str] = []
    tried, parts = 0, len(texts) // _ENOUGH + 1
    for part in (texts[start::parts] for start in range(parts)):
        some += itertools.compress(part, unequal(first, second, part, reading))
        tried += len(part)
        if len(some) >= _ENOUGH:
            break
    return some, tried


def _choose(texts: Sequence[str]) -> list[str]:
    """Choose the shortest texts, and some from all over: they were made from changes, in their order."""
    if len(texts) <= _OF_GROUP:
        return list(texts)
    step = len(texts) / (_OF_GROUP // 2)
    spread = [texts[int(number * step)] for number in range(_OF_GROUP // 2)]
    return [*sorted(texts, key=len)[: _OF_GROUP // 2], *spread]


def _without_repeats(starts: Mapping[Cause, list[str]]) -> dict[Cause, list[str]]:
    """Leave out causes that the plain reading shows as well."""
    plain = {(cause.stage, cause.name) for cause in starts if cause.reading == "plain"}
    return {
        cause: texts
        for cause, texts in starts.items()
        if cause.reading == "plain" or (cause.stage, cause.name) not in plain
    }


# ---------------------------------------------------------------------------------------------- texts


def count_texts(
    first: Encoder, second: Encoder, name: str, threads: int, kept: DifferingTexts, use: Sequence[_Use] = ()
) -> Iterator[TextCount]:
    """Count a corpus, or each language of an aligned one, and add the ids of each side to its use, if there is one."""
    counts: dict[str, TextCount] = {}
    for batch, mine, theirs in _encoded(first, second, name, threads):
        for counted, tokens in zip(use, (mine, theirs), strict=False):
            np.add(counted, np.bincount(tokens.ids, minlength=len(counted)), out=counted)
        sizes = (np.diff(tokens.offsets).tolist() for tokens in (mine, theirs))
        for (label, text), ours, others, differs in zip(batch, *sizes, differing(mine, theirs), strict=True):
            count = counts.setdefault(label, TextCount(label))
            count.documents += 1
            count.bytes += len(text.encode())
            count.first += ours
            count.second += others
            if differs:
                count.differing += 1
                kept.add(text)
    yield from counts.values()


def _encoded(first: Encoder, second: Encoder, name: str, threads: int) -> Iterator[tuple[_Batch, Tokens, Tokens]]:
    """Yield the batches of a text with the tokens of both sides; thread-safe ones take several batches at a time."""
    shared = first.thread_safe and second.thread_safe

    def encoded(batch: _Batch) -> tuple[_Batch, Tokens, Tokens]:
        texts, of_call = [text for _, text in batch], 1 if shared else threads
        return batch, first.encode(texts, threads=of_call), second.encode(texts, threads=of_call)

    read = batches(_labelled(name), size=_CHARACTERS, size_of=lambda labelled: len(labelled[1]))
    return in_order(encoded, read, threads if shared else 1)


def _labelled(name: str) -> Iterator[tuple[str, str]]:
    corpus, tally = open_corpus(name), Tally()
    if isinstance(corpus, ParallelCorpus):
        for row in corpus.rows(tally):
            yield from ((f"{name} {language}", row[language]) for language in corpus.languages)
        return
    yield from ((name, piece.text) for piece in keyed(corpus, tally))
