"""Compression: every metric of one pass over a corpus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyharness import corpora
from pyharness.benchmarks import Benchmark, Findings, Pace, PassRun, Work, notes
from pyharness.kernels.text import ReadTexts, TextColumn
from pyharness.metrics import compression, continued_words, corpus_metrics, counters, distribution
from pyharness.metrics.counting import histograms, id_digests, state_arrays
from pyharness.metrics.counting.id_digests import IdDigests
from pyharness.metrics.counting.sampling import DIGEST_BYTES, DocumentSample
from pyharness.metrics.counting.state import Batch, CorpusState, Facts, measure
from pyharness.statistics.jackknife import GROUPS, groups_of
from pyharness.system.threads import in_order
from pyharness.types import (
    Case,
    CaseResult,
    Column,
    Corpus,
    Fact,
    Ids,
    InputError,
    Measurement,
    Plot,
    State,
    Table,
    Tally,
    Tokenizer,
    Tokens,
    offsets_of,
)

# Documents are cut at 1 MiB by default: a sample must have room for at least one.
PAIR_SAMPLE_BYTES = 8 << 20
WORD_SAMPLE_BYTES = 2 << 20
MOST_PAIRS = 1 << 24  # distinct pairs in a state that is read: twice as many as the sample has bytes
_PAIRS, _WORDS = "pairs documents", "words documents"  # arrays of a part: the samples
COUNTS_ALONE = "only counts of tokens are known, and no ids"
EXTRA_METRICS = ("continued_word_share", "normalized_sequence_length", "bigram_entropy", "mutual_information")


class SampledIds(NamedTuple):
    """A document of the sample for pairs."""

    ids: Ids
    group: int


@dataclass(slots=True)
class SampledWords:
    """A document of the sample for words. Of a part that was read elsewhere it is known by its counts alone."""

    text: str
    ids: Ids
    counts: NDArray[np.int64] | None = None  # int64 [4], as ``continued_words.count`` gives; None: not counted yet


class CountedBatch(NamedTuple):
    """What a batch adds to a pass."""

    batch: Batch
    sums: Mapping[str, NDArray[np.int64]]
    digests: NDArray[np.uint8]  # of the texts, [texts, 16]
    ids_total: int
    ids_kept: id_digests.Kept


@dataclass(slots=True)
class CorpusPass:
    """One pass of one tokenizer over a corpus, or over a part of it. ``merge`` adds the pass over another."""

    tokenizer: Tokenizer
    state: CorpusState
    tally: Tally = field(default_factory=Tally)
    for_pairs: DocumentSample[SampledIds] = field(default_factory=lambda: DocumentSample(PAIR_SAMPLE_BYTES))
    for_words: DocumentSample[SampledWords] = field(default_factory=lambda: DocumentSample(WORD_SAMPLE_BYTES))
    ids: IdDigests = field(default_factory=IdDigests)
    work: Work | None = None  # what ``findings`` are of

    @classmethod
    def start(cls, tokenizer: Tokenizer, work: Work | None = None) -> CorpusPass:
        """Return a pass that has read nothing yet."""
        facts = Facts.of(tokenizer)
        return cls(tokenizer, CorpusState.empty(facts), ids=IdDigests.of(facts), work=work)

    def read(self, corpus: Corpus, threads: int = 1, progress: Any = lambda _: None) -> CorpusPass:
        """Stream the corpus through the tokenizer, a batch at a time; a thread-safe one takes several at a time."""
        counting = list(counters().values())  # a lookup searches modules
        shared = getattr(self.tokenizer, "thread_safe", False)

        def counted(texts: ReadTexts) -> CountedBatch:
            digests, keys = texts.digests()
            tokens = self.tokenizer.encode_batch(texts if shared else list(texts), 1 if shared else threads)
            batch = self.state.batch(texts, tokens, groups_of(keys), 1 if shared else threads, texts.opens())
            return CountedBatch(batch, batch.sums(counting), digests, *self.ids.batch(digests, tokens, keys))

        for one in in_order(counted, corpora.read_batches(corpus, self.tally), threads if shared else 1):
            self._add(one)
            progress(self.tally.bytes)
        return self

    def _add(self, one: CountedBatch) -> None:
        batch, sizes = one.batch, one.batch.statistics[:, TextColumn.BYTES]
        self.tally.count_all(one.digests, sizes)
        self.state.add_batch(batch, one.sums)
        self.ids.append(one.ids_total, one.ids_kept)
        wanted = self.for_pairs.wanted(one.digests)  # those for words are among them
        groups, ends = batch.groups.tolist(), batch.tokens.offsets.tolist()
        for (digest, index), size in zip(wanted.items(), sizes[list(wanted.values())].tolist(), strict=True):
            ids = batch.tokens.ids[ends[index] : ends[index + 1]].copy()
            self.for_pairs.add(digest, size, SampledIds(ids, groups[index]))
            if self.for_words.wants(digest):
                self.for_words.add(digest, size, SampledWords(batch.texts[index], ids))

    def merge(self, other: CorpusPass) -> None:
        """Add the pass over the text behind its own."""
        self.state.merge(other.state)
        self.tally.merge(other.tally)
        self.for_pairs.merge(other.for_pairs)
        self.for_words.merge(other.for_words)
        self.ids.merge(other.ids)

    def counted(self, threads: int = 1, device: str = "cpu") -> Counted:
        """Count the sampled documents; pairs are counted on ``device``, with the same counts on any."""
        return Counted(
            self.state,
            distribution.count_pairs(self._sampled()[0], threads, device),
            Sampled.of(self.for_pairs),
            continued_words.WordCuts.of(self._word_counts()),
            Sampled.of(self.for_words),
        )

    def _sampled(self) -> tuple[Tokens, NDArray[np.uint8]]:
        """Return the ids of the documents of the sample for pairs, and their groups."""
        documents = self.for_pairs.documents()
        groups = np.array([one.group for one in documents], np.uint8)
        return Tokens.from_lists([one.ids for one in documents]), groups

    def _word_counts(self) -> NDArray[np.int64]:
        """Count the words of the documents of the sample that are not counted yet; return all, int64 [documents, 4]."""
        documents = self.for_words.documents()
        new = [one for one in documents if one.counts is None]
        texts, vocabulary = [(one.text, one.ids) for one in new], self.state.facts.vocabulary
        for one, counts in zip(new, continued_words.count(self.tokenizer, texts, vocabulary), strict=True):
            one.counts = counts
        return np.array([one.counts for one in documents], np.int64).reshape(-1, 4)

    def arrays(self) -> State:
        """Return all that was read, without any text: documents by digest, size, ids and counts.

        What follows from the ids of the sampled documents is not in them.
        """
        sampled, groups = self._sampled()
        documents, threshold = self.for_pairs.arrays(_PAIRS), f"{_WORDS} threshold"
        return {
            **state_arrays.of_part(self.state, sampled, groups),
            **state_arrays.of_tally(self.tally),
            **documents,
            f"{_PAIRS} groups": groups,
            f"{_PAIRS} lengths": state_arrays.compact(np.diff(sampled.offsets)),
            **state_arrays.of_ids(sampled.ids, f"{_PAIRS} ids"),
            # Samples hold the smallest digests: the documents for words are the first of those for pairs.
            threshold: self.for_words.arrays(_WORDS)[threshold],
            f"{_WORDS} counts": state_arrays.compact(self._word_counts()),
            **self.ids.part_arrays(self.ids.of_sample(documents[f"{_PAIRS} digests"], sampled)),
        }

    def restore(self, arrays: State) -> None:
        """Invert ``arrays``; raise ``InputError`` for arrays of another vocabulary."""
        self.for_pairs, self.for_words = DocumentSample(PAIR_SAMPLE_BYTES), DocumentSample(WORD_SAMPLE_BYTES)
        for prefix, sample in ((_PAIRS, self.for_pairs), (_WORDS, self.for_words)):
            longest = max((len(array) for name, array in arrays.items() if name.startswith(prefix)), default=0)
            if longest > 2 * sample.byte_cap:  # before objects are made of them
                raise InputError(f"{longest:,} values of {prefix!r} are more than a sample has")
        self.ids = IdDigests(self.ids.token_bytes)
        self.tally = state_arrays.tally_of(arrays)
        lengths = state_arrays.taken(arrays, f"{_PAIRS} lengths")
        ids = state_arrays.ids_of(arrays, f"{_PAIRS} ids", len(self.state.facts.counted))
        groups = state_arrays.taken(arrays, f"{_PAIRS} groups", len(lengths))
        if int(lengths.astype(object).sum()) != len(ids) or int(lengths.min(initial=0)) < 0:
            raise InputError("the ids of sampled documents are not of one size")
        if not 0 <= int(groups.min(initial=0)) <= int(groups.max(initial=0)) < GROUPS:
            raise InputError(f"sampled documents are of other groups than the {GROUPS} there are")
        tokens, groups = Tokens(ids, offsets_of(lengths)), groups.astype(np.uint8)
        self.state = state_arrays.part_of(arrays, self.state.facts, tokens, groups)
        # Copies: the few documents that a merge keeps would hold the ids of all.
        documents = [SampledIds(tokens.document(at).copy(), group) for at, group in enumerate(groups.tolist())]
        self.for_pairs.restore(_PAIRS, arrays, documents)
        digests = state_arrays.table(arrays, f"{_PAIRS} digests", DIGEST_BYTES).astype(np.uint8)
        self.ids.restore(arrays, self.ids.of_sample(digests, tokens))
        limit = state_arrays.table(arrays, f"{_WORDS} threshold", DIGEST_BYTES).astype(np.uint8).tobytes()
        number = bisect_left(range(len(digests)), limit, key=lambda i: digests[i].tobytes()) if limit else len(digests)
        first = {f"{_WORDS} {what}": arrays[f"{_PAIRS} {what}"][:number] for what in ("digests", "sizes")}
        counts = state_arrays.table(arrays, f"{_WORDS} counts", 4).astype(np.int64)
        words = [SampledWords("", np.zeros(0, np.uint32), one) for one in counts]
        self.for_words.restore(_WORDS, {**arrays, **first}, words)

    def findings(self) -> Findings:
        """Return every number, and the arrays to keep with a record."""
        assert self.work is not None  # noqa: S101 -- only a pass that a case started has findings
        counted = self.counted(self.work.threads, self.work.device)
        state = {**counted.arrays(), **self.ids.arrays()}
        return replace(_findings(counted, self.work.case, state), tally=self.tally, state=state)


@dataclass(frozen=True, slots=True)
class Sampled:
    """Size of a sample of documents, and whether it is too small."""

    bytes: int
    byte_cap: int
    is_too_small: bool

    @classmethod
    def of(cls, sample: DocumentSample[Any]) -> Sampled:
        """Describe a sample."""
        return cls(sample.bytes, sample.byte_cap, sample.is_too_small)

    def unless_too_small(self, measurement: Measurement) -> Measurement:
        """Return a measurement of the sample, or the reason for its absence if the sample is too small."""
        if not self.is_too_small:
            return measurement
        reason = f"a document is larger than the sample of {self.byte_cap:,} bytes: cut documents (max_document_bytes=)"
        return replace(measurement, value=None, reason=reason)


@dataclass(frozen=True, slots=True)
class Counted:
    """All counts of a pass: its numbers are a function of them. Integers only."""

    state: CorpusState
    pairs: distribution.PairCounts
    for_pairs: Sampled
    words: continued_words.WordCuts
    for_words: Sampled

    def measurements(self) -> list[Measurement]:
        """Return every metric; of a row whose ids are not known (V = 0), those that counts of tokens decide."""
        if not self.state.facts.vocab_size:
            return self._of_counts_alone()
        measurements = measure(self.state, corpus_metrics().values())
        measurements += [self.for_pairs.unless_too_small(one) for one in distribution.measure_pairs(self.pairs)]
        return [*measurements, self.for_words.unless_too_small(continued_words.measure(self.words))]

    def _of_counts_alone(self) -> list[Measurement]:
        metrics = corpus_metrics().values()
        lacking = [metric.name for metric in metrics if not metric.about.counts_tokens]
        return [
            *measure(self.state, [metric for metric in metrics if metric.about.counts_tokens]),
            *(Measurement(name, None, reason=COUNTS_ALONE) for name in lacking),
        ]

    def details(self, list_unused: bool = False) -> dict[str, Any]:
        """Return sums by group, samples, and histograms of the tokens, if ids are known."""
        total = self.state.total()
        details: dict[str, Any] = {
            "groups": {name: sums.tolist() for name, sums in sorted(self.state.counters.items())},
            "samples": {"pairs_bytes": self.for_pairs.bytes, "words_bytes": self.for_words.bytes},
            "histograms": histograms.as_details(histograms.histograms(total) if self.state.facts.vocab_size else {}),
        }
        if list_unused:
            details["unused_ids"] = np.flatnonzero((total.histogram == 0) & self.state.facts.counted).tolist()
        return details

    def arrays(self) -> State:
        """Return arrays to keep with a record."""
        spectra = (("pairs", self.pairs.joint), ("left ids", self.pairs.left), ("right ids", self.pairs.right))
        return {
            **state_arrays.of_corpus_state(self.state),
            **{f"{name} counts": state_arrays.compact(spectrum.counts) for name, spectrum in spectra},
            **{f"{name} types": state_arrays.compact(spectrum.types) for name, spectrum in spectra},
            "pairs sample": np.array(astuple(self.for_pairs), np.int64),
            "words": np.array(astuple(self.words), np.int64),
            "words sample": np.array(astuple(self.for_words), np.int64),
        }

    @classmethod
    def of_arrays(cls, arrays: State) -> Counted:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        samples = [state_arrays.taken(arrays, f"{name} sample", 3).tolist() for name in ("pairs", "words")]
        for_pairs, for_words = (Sampled(size, cap, bool(too_small)) for size, cap, too_small in samples)
        spectra = [_spectrum(arrays, name) for name in ("pairs", "left ids", "right ids")]
        words = continued_words.WordCuts(*state_arrays.taken(arrays, "words", 4).tolist())
        state = state_arrays.corpus_state_of(arrays)
        return cls(state, distribution.PairCounts(*spectra), for_pairs, words, for_words)


def _spectrum(arrays: State, name: str) -> distribution.Spectrum:
    counts = state_arrays.taken(arrays, f"{name} counts")
    types = state_arrays.taken(arrays, f"{name} types", len(counts))
    if int(types.astype(object).sum()) > MOST_PAIRS:
        raise InputError(f"a spectrum of more than {MOST_PAIRS:,} {name}")
    return distribution.Spectrum(counts.astype(np.uint64), types.astype(np.int64))


def starts(work: Work) -> CorpusPass:
    """Start the pass of a row over a text."""
    return CorpusPass.start(work.counter(), work)


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again, and the details except the tally, from the counts."""
    return _findings(Counted.of_arrays(state), case, state)


def _findings(counted: Counted, case: Case, state: State) -> Findings:
    details = counted.details(bool(case.parameters.get("list_unused", False)))
    return Findings(tuple(counted.measurements()), {**details, **id_digests.details(state)})


def relative_length(result: CaseResult, home: CaseResult | None, reference: str) -> list[Measurement]:
    """Return the length in tokens, relative to the reference row on the same text."""
    if home is None or home.status != "ok":
        reason = f"the reference {reference!r} was not measured"
        return [Measurement("normalized_sequence_length", None, reason=reason, part=reference)]
    mine, documents, sizes = (result.groups[name] for name in ("tokens", "documents", "bytes"))
    return [compression.normalized_sequence_length(mine, home.groups["tokens"], documents, reference, sizes)]


def _reference(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Name the reference row of the relative lengths."""
    del data
    lengths = [one for result in results for one in result.measurements if one.metric == EXTRA_METRICS[1]]
    for home in dict.fromkeys(one.part for one in lengths if one.value is not None):
        yield f"NSL (normalised sequence length): tokens relative to {home}."


TABLE = Table(
    "Compression",
    columns=(
        Fact("vocab_size", "V"),
        Column("bytes_per_token", "bytes/token", interval=True),
        Column("tokens_per_word", "tok/word"),
        Column("renyi_efficiency", "Rényi 2.5"),
        Column("vocabulary_used", "used %"),
        Column("normalized_sequence_length", "NSL", optional=True),
    ),
    notes=(("V: vocabulary size. tok/word: tokens per word (UAX #29). "
           "used %: share of the vocabulary that the text uses."),
           "Rényi 2.5: how evenly the text uses the vocabulary, from 0 to 1 (Rényi efficiency of order 2.5).",
           _reference, notes.lossy),
    joined=("list_unused",),
)  # fmt: skip

KNEE = Plot(
    Table(
        "Vocabulary size against tokens per word",
        columns=(
            Fact("vocab_size", "vocabulary size"),
            Column("tokens_per_word", "tokens/word", interval=True),
            Column("embedding_parameters", "V x d, {part}", each=True),
        ),
        notes=("V: vocabulary size without special tokens. V x d: parameters of an embedding of width d, if known.",),
        joined=("list_unused",),
    ),
    "A point is a row: vocabulary size across, tokens per word up. Rows that differ only in size are joined. Where "
    "their line flattens, more vocabulary gains little.",
    drawing="points",
    log=True,
    joins=notes.recipe,
)

BENCHMARKS = (
    Benchmark(
        "compression",
        "compression, distribution and integrity metrics of one pass over a corpus",
        PassRun(starts),
        corpus="required",
        whole_text=True,
        pace=Pace(0.45, 0.55),
        place=0,
        metrics=(*corpus_metrics(), *EXTRA_METRICS),
        tables=(TABLE,),
        plots=(KNEE,),
        ranks="bytes_per_token",
        pays="tokens",
        parameters={"list_unused": False},
        rederive=rederive,
        relative=relative_length,
    ),
)
