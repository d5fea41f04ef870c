"""The integer state of one pass over a corpus: counts per group of documents, and a histogram of ids per group.

A pass is ``empty``, then any number of ``update`` and ``merge``, then ``measure``. The state holds integers only, and
merging is associative and commutative. So shards, threads, machines and resumed runs give the same numbers to the last
bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness import kernels
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS, Undefined
from pyharness.types import HasVocabulary, Measurement, Metric, Tokenizer, TokenKind, Tokens, Unsupported, Vocabulary

MOST_IDS = 1 << 22  # of a vocabulary: a state in memory takes 256 bytes for each


@dataclass(frozen=True)
class Facts:
    """Facts about a tokenizer that the metrics need."""

    vocab_size: int  # V
    counted: NDArray[np.bool_]  # [id_limit]: the ids that make up V
    vocabulary: Vocabulary | None
    lossy: bool

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Facts:
        """Read the facts of a loaded tokenizer; an engine that hides its vocabulary counts every id below its limit."""
        vocabulary = tokenizer.vocabulary() if isinstance(tokenizer, HasVocabulary) else None
        counted = np.ones(tokenizer.id_limit, np.bool_) if vocabulary is None else vocabulary.counted
        return cls(tokenizer.vocab_size, counted, vocabulary, tokenizer.round_trip == "lossy")

    @cached_property
    def uncounted(self) -> NDArray[np.int64]:
        """Ids that are not of V, int64 [ids]."""
        return np.flatnonzero(~self.counted)

    @cached_property
    def by_kind(self) -> Mapping[TokenKind, NDArray[np.int64]]:
        """Ids of the kinds that the vocabulary has and that metrics ask for; empty if it is hidden."""
        kinds = np.zeros(0, np.uint8) if self.vocabulary is None else self.vocabulary.kinds
        ids_by_kind = {kind: np.flatnonzero(kinds == kind) for kind in (TokenKind.UNKNOWN, TokenKind.BYTE_FALLBACK)}
        return {kind: ids for kind, ids in ids_by_kind.items() if len(ids)}

    @cached_property
    def lengths(self) -> NDArray[np.int64] | None:
        """Bytes of every token, int64 [id_limit]."""
        return None if self.vocabulary is None else np.diff(self.vocabulary.offsets)

    @cached_property
    def utf8_flags(self) -> NDArray[np.uint8] | None:
        """uint8 [id_limit]: how every token's bytes sit in UTF-8, for ``kernels.character_splits``."""
        return None if self.vocabulary is None else kernels.utf8_flags(self.vocabulary)


def distinct_counts(counts: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the counts above 0 that occur, ascending, and how often each does.

    >>> [column.tolist() for column in distinct_counts(np.array([7, 0, 2, 7], np.uint64))]
    [[2, 7], [1, 2]]
    """
    times = np.bincount(np.minimum(counts, _COMMON).view(np.int64), minlength=_COMMON)  # a fourth of the time of a sort
    common = np.flatnonzero(times[1:_COMMON]) + 1
    rare, times_rare = np.unique(counts[counts >= _COMMON], return_counts=True)
    return np.concatenate((common.astype(np.uint64), rare)), np.concatenate((times[common], times_rare))


_COMMON = 1 << 16
Sums: TypeAlias = NDArray[np.object_]  # [GROUPS] integers of Python


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts of one update (documents, or pieces of documents that were cut), and their counts."""

    texts: Sequence[str]
    statistics: NDArray[np.int64]  # [texts, 6], columns of kernels.text_statistics
    tokens: Tokens
    lengths: NDArray[np.int64]  # tokens of every text
    groups: NDArray[np.uint8]
    opens: NDArray[np.bool_]  # whether a text is the first of a document
    facts: Facts

    def sums(self, counters: Iterable[Counter]) -> dict[str, NDArray[np.int64]]:
        """Return the sum of every counter by group, int64 [GROUPS]; 64 bits are enough for one batch."""
        by_name = {counter.name: np.zeros(GROUPS, np.int64) for counter in counters}
        for counter in counters:
            np.add.at(by_name[counter.name], self.groups, counter.count(self))
        return by_name


@dataclass(frozen=True, slots=True)
class Counter:
    """An integer per text: int64 [texts] of a batch, summed by group."""

    name: str
    count: Callable[[Batch], NDArray[np.int64]]


@dataclass(frozen=True)
class Shares:
    """Relative frequencies of the ids that occur, in descending order. Equal frequencies are stored once."""

    distinct: NDArray[np.float64]  # [distinct shares]
    types: NDArray[np.int64]  # [distinct shares], how many ids have each
    sums: dict[float, float] = field(default_factory=dict)  # by the order of an entropy

    @classmethod
    def of(cls, histogram: NDArray[np.uint64]) -> Shares:
        """Build the shares of a histogram in which at least one id occurs."""
        counts, types = distinct_counts(histogram)
        return cls(counts[::-1] / float(histogram.sum()), types[::-1])

    @property
    def all(self) -> NDArray[np.float64]:
        """The share of every id, float64 [V_obs]."""
        return np.repeat(self.distinct, self.types)

    def renyi_sum(self, alpha: float) -> float:
        """Return the sum over ids of p^alpha; of p log2 p if alpha is 1."""
        if alpha not in self.sums:
            terms = self.distinct * np.log2(self.distinct) if alpha == 1 else self.distinct**alpha
            self.sums[alpha] = float(np.repeat(terms, self.types).sum())  # in the order of the ids' shares
        return self.sums[alpha]


@dataclass(frozen=True)
class Counts:
    """The sum of the state of some groups: metrics are functions of it."""

    counters: Mapping[str, int]
    histogram: NDArray[np.uint64]  # [id_limit]
    facts: Facts

    @cached_property
    def types(self) -> int:
        """V_obs: the number of distinct ids that occur, of every kind."""
        return int(np.count_nonzero(self.histogram))

    @cached_property
    def uncounted_types(self) -> int:
        """Number of distinct ids that occur and are not of V."""
        return int(np.count_nonzero(self.histogram[self.facts.uncounted]))

    @cached_property
    def shares(self) -> Shares:
        """The relative frequencies of the ids; raises ``Undefined`` if there are no tokens."""
        if self.types == 0:
            raise Undefined("no tokens were produced")
        return Shares.of(self.histogram)

    def __getitem__(self, counter: str) -> int:
        return self.counters[counter]


@dataclass(frozen=True, slots=True)
class CorpusMetric:
    """A metric and the function that computes it from ``Counts``; it raises ``Undefined`` if it does not apply."""

    about: Metric
    compute: Callable[[Counts], float | int]
    no_interval: str | None = None  # why its replicates would give no valid interval
    of_documents: bool = False  # each text (document, or piece of a cut one) has the same weight, whatever its size

    @property
    def name(self) -> str:
        """Name of the metric, for the registry."""
        return self.about.name


@dataclass(slots=True)
class CorpusState:
    """Counts per group. The histogram is uint64 [GROUPS, id_limit]; sums are Python's integers, which have no limit.

    Fixed-point sums take 32 and more bits per document or token: at 1e11 of these, 64 bits in all are not enough.
    """

    facts: Facts
    histogram: NDArray[np.uint64]
    counters: dict[str, Sums] = field(default_factory=dict)

    @classmethod
    def empty(cls, facts: Facts) -> CorpusState:
        """Return the state before any text; raise ``Unsupported`` for more ids than fit into memory."""
        if (ids := len(facts.counted)) > MOST_IDS:
            raise Unsupported(f"its ids go up to {ids - 1:,}, and at most {MOST_IDS:,} are counted")
        # Filled at once, which puts it on large pages. Ids come in any order: on small pages, of ``np.zeros``, counting
        # took three times as long.
        return cls(facts, np.full((GROUPS, ids), 0, np.uint64))

    @classmethod
    def of_sums(cls, counters: Mapping[str, Sums] | None = None) -> CorpusState:
        """Return a state of sums alone, without a histogram of ids; it has no counters if no sums are given."""
        state = cls.empty(Facts(0, np.zeros(0, np.bool_), None, lossy=False))
        state.counters.update(counters or {})
        return state

    def update(
        self,
        texts: Sequence[str],
        tokens: Tokens,
        groups: NDArray[np.uint8],
        counters: Iterable[Counter],
        threads: int = 1,
        opens: NDArray[np.bool_] | None = None,
    ) -> None:
        """Add a batch of texts; ``groups`` uint8 [texts], ``opens`` bool [texts]: without it, each is a document."""
        batch = self.batch(texts, tokens, groups, threads, opens)
        self.add_batch(batch, batch.sums(list(counters)))

    def batch(
        self,
        texts: Sequence[str],
        tokens: Tokens,
        groups: NDArray[np.uint8],
        threads: int = 1,
        opens: NDArray[np.bool_] | None = None,
    ) -> Batch:
        """Count a batch of texts without adding it; other threads may do so meanwhile."""
        statistics = kernels.text_statistics(texts, threads=threads)
        opens = np.ones(len(texts), np.bool_) if opens is None else opens
        return Batch(texts, statistics, tokens, np.diff(tokens.offsets), groups, opens, self.facts)

    def add_batch(self, batch: Batch, sums: Mapping[str, NDArray[np.int64]]) -> None:
        """Add a batch and the sums of its counters."""
        for name, by_group in sums.items():
            self.add(name, by_group)
        kernels.token_frequency(batch.tokens.ids, batch.tokens.offsets, batch.groups, self.histogram)

    def merge(self, other: CorpusState) -> None:
        """Add the counts of another pass of the same tokenizer."""
        self.histogram += other.histogram
        for name, sums in other.counters.items():
            self.add(name, sums)

    def add(self, name: str, sums: NDArray[Any]) -> None:
        """Add integers [GROUPS] to a counter."""
        before = self.counters.get(name)
        self.counters[name] = sums.astype(np.object_) if before is None else before + sums

    def total(self) -> Counts:
        """Return the sum of all groups."""
        sums = {name: int(values.sum()) for name, values in self.counters.items()}
        return Counts(sums, self.histogram.sum(axis=0), self.facts)

    def of(self, groups: NDArray[np.bool_], total: Counts) -> Counts:
        """Return the sum of some groups, bool [GROUPS]. ``total`` makes it cheap for all groups but one."""
        left_out = np.flatnonzero(~groups)
        if len(left_out) <= 1:
            return self.without(int(left_out[0]), total) if len(left_out) else total
        sums = {name: int(values[groups].sum()) for name, values in self.counters.items()}
        return Counts(sums, self.histogram[groups].sum(axis=0), self.facts)

    def without(self, group: int, total: Counts) -> Counts:
        """Return the sum of all groups but one."""
        sums = {name: total.counters[name] - int(values[group]) for name, values in self.counters.items()}
        return Counts(sums, total.histogram - self.histogram[group], self.facts)


def measure(state: CorpusState, metrics: Iterable[CorpusMetric]) -> list[Measurement]:
    """Return every metric of a finished pass, with the replicates of its interval."""
    total = state.total()
    if not total.counters.get("pieces", total.counters.get("documents")):
        return [Measurement(metric.name, None, reason="the corpus has no documents") for metric in metrics]
    counted: dict[bytes, Counts] = {}

    def counts(groups: jackknife.Groups) -> Counts:
        key = groups.tobytes()
        if key not in counted:
            counted[key] = state.of(groups, total)
        return counted[key]

    documents, sizes = state.counters["documents"].tolist(), state.counters.get("bytes")  # extracts are of one size

    def measured(metric: CorpusMetric) -> Measurement:
        def of(groups: jackknife.Groups) -> float | int:
            try:
                return metric.compute(counts(groups))
            except Exception as error:
                error.add_note(f"in metric {metric.name!r}")
                raise

        if metric.no_interval is not None:
            return jackknife.without_interval(metric.name, of, metric.no_interval)
        weights = None if metric.of_documents or sizes is None else sizes.tolist()
        return jackknife.estimate(metric.name, documents, of, sizes=weights, grows=metric.about.grows_with_text)

    return [measured(metric) for metric in metrics]
