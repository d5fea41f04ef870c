"""Compression: every metric that one pass over a corpus gives."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from pyharness import corpora
from pyharness.benchmarks import Benchmark, Findings, Work, batches
from pyharness.metrics import continued_words, corpus_metrics, counters, jackknife, pairs
from pyharness.metrics.sampling import DocumentSample
from pyharness.metrics.state import CorpusState, Facts, group_of
from pyharness.types import Corpus, Measurement, Tally, Tokenizer

# Documents are cut at 1 MiB unless asked otherwise: a sample must have room for at least one.
PAIR_SAMPLE_BYTES = 8 << 20
WORD_SAMPLE_BYTES = 2 << 20
EXTRA_METRICS = ("continued_word_share", "normalized_sequence_length", "bigram_entropy", "mutual_information")


@dataclass(slots=True)
class CorpusPass:
    """One pass of one tokenizer over a corpus, or over a shard of it. ``merge`` gives the pass over both."""

    tokenizer: Tokenizer
    state: CorpusState
    tally: Tally = field(default_factory=Tally)
    for_pairs: DocumentSample = field(default_factory=lambda: DocumentSample(PAIR_SAMPLE_BYTES))
    for_words: DocumentSample = field(default_factory=lambda: DocumentSample(WORD_SAMPLE_BYTES))

    @classmethod
    def start(cls, tokenizer: Tokenizer) -> CorpusPass:
        """Nothing read yet."""
        return cls(tokenizer, CorpusState.empty(Facts.of(tokenizer)))

    def read(self, corpus: Corpus, threads: int = 1, progress: Any = lambda _: None) -> CorpusPass:
        """Stream the corpus through the tokenizer, a batch at a time."""
        counting = counters().values()
        for batch in batches(corpora.read(corpus, self.tally), lambda one: len(one.text)):
            texts = [one.text for one in batch]
            groups = np.array([group_of(one.key) for one in batch], np.uint8)
            opens = np.array([one.opens for one in batch], np.bool_)
            tokens = self.tokenizer.encode_batch(texts, threads)
            self.state.update(texts, tokens, groups, counting, threads, opens)
            for index, one in enumerate(batch):
                self.for_pairs.add(one.digest, one.text, tokens.document(index))
                self.for_words.add(one.digest, one.text, tokens.document(index))
            progress(self.tally.bytes)
        return self

    def merge(self, other: CorpusPass) -> None:
        """Add the pass over another shard."""
        self.state.merge(other.state)
        self.tally.merge(other.tally)
        self.for_pairs.merge(other.for_pairs)
        self.for_words.merge(other.for_words)

    def measurements(self, threads: int = 1, device: str = "cpu") -> list[Measurement]:
        """Every metric of the pass; pairs are counted on ``device``, with the same counts on any."""
        found = jackknife.measure(self.state, corpus_metrics().values())
        sampled = pairs.measure(self.for_pairs.laid_out(), threads, device)
        found += [_unless_too_large(self.for_pairs, one) for one in sampled]
        cuts = continued_words.count(self.tokenizer, self.for_words.documents())
        return [*found, _unless_too_large(self.for_words, continued_words.measure(cuts))]

    def details(self, list_unused: bool = False) -> dict[str, Any]:
        """What is kept beside the numbers: the tally, the counts per group, lengths of tokens, samples."""
        total = self.state.total()
        details = {
            "tally": describe(self.tally),
            "groups": {name: sums.tolist() for name, sums in sorted(self.state.counters.items())},
            "samples": {"pairs_bytes": self.for_pairs.bytes, "words_bytes": self.for_words.bytes},
            "token_length_histogram": token_lengths(total.histogram, self.state.facts),
        }
        if list_unused:
            unused = (total.histogram == 0) & self.state.facts.counted
            details["unused_ids"] = np.flatnonzero(unused).tolist()
        return details


def _unless_too_large(sample: DocumentSample, found: Measurement) -> Measurement:
    if not sample.is_too_small:
        return found
    reason = f"a document is larger than the sample of {sample.byte_cap:,} bytes: cut documents (max_document_bytes=)"
    return replace(found, value=None, reason=reason)


def describe(tally: Tally) -> dict[str, Any]:
    """Return a tally as JSON values: its digests are hexadecimal."""
    found = asdict(tally) | {"digest": f"{tally.digest:032x}"}
    beginnings = found.pop("beginnings")
    return found if beginnings is None else found | {"beginnings": [f"{digest:032x}" for digest in beginnings]}


def token_lengths(histogram: np.typing.NDArray[np.uint64], facts: Facts) -> dict[str, dict[str, int]]:
    """Tokens by length in bytes: entries of the vocabulary, and emitted tokens."""
    if facts.lengths is None:
        return {}
    entries = np.bincount(facts.lengths[facts.counted])
    emitted = np.zeros(int(facts.lengths.max(initial=0)) + 1, np.uint64)
    np.add.at(emitted, facts.lengths, histogram)
    by_length = {"vocabulary": entries, "emitted": emitted}
    return {
        name: {str(length): int(counts[length]) for length in np.flatnonzero(counts)}
        for name, counts in by_length.items()
    }


def run(work: Work) -> Findings:
    """Read the whole corpus once."""
    passed = CorpusPass.start(work.load()).read(work.text, work.threads, work.progress)
    details = passed.details(bool(work.case.parameters.get("list_unused", False)))
    return Findings(tuple(passed.measurements(work.threads, work.device)), details)


BENCHMARKS = (
    Benchmark(
        "compression",
        "compression, distribution and integrity metrics of one pass over a corpus",
        run,
        corpus="required",
        metrics=(*corpus_metrics(), *EXTRA_METRICS),
        parameters={"list_unused": False},
    ),
)
