"""Segmentation: the units of a row, whether tokens, patches, words or sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from pyharness import corpora
from pyharness.benchmarks import Benchmark, Findings, NoFindings, Pace, PassRun, Work
from pyharness.corpora.streaming import BATCH_SIZE, batches
from pyharness.features.segmentation.metrics import extracts, numbers, units, words
from pyharness.features.segmentation.metrics.extracts import ExtractCounts, extract
from pyharness.features.segmentation.metrics.units import UnitCounts
from pyharness.metrics.counting import state_arrays
from pyharness.metrics.counting.sampling import DIGEST_BYTES, DocumentSample
from pyharness.statistics.jackknife import group_of
from pyharness.types import (
    Case,
    CaseResult,
    Column,
    Corpus,
    Digest,
    HasCalibration,
    HasSegments,
    InputError,
    Measurement,
    NotSpelled,
    State,
    Table,
    Tally,
)

_SAMPLE = "extracts documents"
Extract: TypeAlias = tuple[str, Digest]  # with the key of its document


@dataclass(slots=True)
class SegmentationPass:
    """One pass over a corpus or a part of it. ``merge`` gives the pass over both."""

    segmenter: HasSegments
    units: UnitCounts = field(default_factory=UnitCounts)
    sample: DocumentSample[Extract] = field(default_factory=lambda: DocumentSample(extracts.SAMPLE_BYTES))
    tally: Tally = field(default_factory=Tally)
    row: str = ""
    threads: int = 1

    def read(self, corpus: Corpus, threads: int = 1, progress: Any = lambda _: None) -> SegmentationPass:
        """Stream the corpus, a batch at a time.

        Raises:
            NoFindings: the units of a text do not spell it, and the segmenter has not marked it as missing.
            InputError: units were fitted to a text of the corpus.
        """
        try:
            self._read(corpus, threads, progress)
        except NotSpelled as reason:
            raise self._no_findings(reason) from None
        return self

    def _no_findings(self, reason: NotSpelled) -> NoFindings:
        return NoFindings(Findings(status="failed", reason=f"{self.row}: {reason}"))

    def _read(self, corpus: Corpus, threads: int, progress: Any) -> None:
        for batch in batches(corpora.read(corpus, self.tally), size=BATCH_SIZE, size_of=lambda one: len(one.text)):
            if isinstance(self.segmenter, HasCalibration):
                for one in batch:
                    self.segmenter.check_unseen(one.text, (one.digest, one.key))
            texts = [one.text for one in batch]
            groups = np.array([group_of(one.key) for one in batch], np.uint8)
            opens = np.array([one.opens for one in batch], np.bool_)
            self.units.update(texts, self.segmenter.segment_batch(texts, threads), groups, opens)
            for one in batch:
                if self.sample.wants(one.digest):
                    beginning = extract(one.text)
                    self.sample.add(one.digest, len(beginning.encode()), (beginning, one.key))
            progress(self.tally.bytes)

    def merge(self, other: SegmentationPass) -> None:
        """Add the pass over the text behind its own."""
        self.units.merge(other.units)
        self.sample.merge(other.sample)
        self.tally.merge(other.tally)

    def counted(self, threads: int = 1) -> SegmentationCounts:
        """Cut the extracts again, with noise and as prefixes; raise ``NotSpelled``."""
        return SegmentationCounts(self.units, ExtractCounts.count(self.segmenter, self.sample.documents(), threads))

    def arrays(self) -> State:
        """Return the counts, the tally, and the extracts with their text: 512 KiB at most."""
        documents = self.sample.documents()
        return {
            **self.units.arrays(),
            **state_arrays.of_tally(self.tally),
            **self.sample.arrays(_SAMPLE),
            f"{_SAMPLE} texts": state_arrays.of_text("".join(text for text, _ in documents)),
            f"{_SAMPLE} keys": np.frombuffer(b"".join(key for _, key in documents), np.uint8).reshape(-1, DIGEST_BYTES),
        }

    def restore(self, arrays: State) -> None:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        self.units, self.tally = UnitCounts.of_arrays(arrays), state_arrays.tally_of(arrays)
        self.sample = DocumentSample(extracts.SAMPLE_BYTES)
        sizes = state_arrays.taken(arrays, f"{_SAMPLE} sizes").astype(np.int64)
        data = state_arrays.taken(arrays, f"{_SAMPLE} texts").astype(np.uint8)
        keys = state_arrays.table(arrays, f"{_SAMPLE} keys", DIGEST_BYTES).astype(np.uint8)
        if (sizes < 0).any() or int(sizes.sum()) != len(data) or len(keys) != len(sizes):
            raise InputError("the extracts of a part are not of one size")
        texts = map(state_arrays.text_of, np.split(data, np.cumsum(sizes)[:-1]) if len(sizes) else ())
        self.sample.restore(_SAMPLE, arrays, list(zip(texts, map(bytes, keys), strict=True)))

    def findings(self) -> Findings:
        """Return every number, and the arrays to keep with a record; raise ``NoFindings`` for an unspelled extract."""
        try:
            counted = self.counted(self.threads)
        except NotSpelled as reason:
            raise self._no_findings(reason) from None
        findings = counted.findings()
        details = {**findings.details, "is_causal": self.segmenter.is_causal}
        return replace(findings, details=details, tally=self.tally, state=counted.arrays())


@dataclass(frozen=True, slots=True)
class SegmentationCounts:
    """Counts of a pass, from which all its numbers follow. Integers only."""

    units: UnitCounts
    extracts: ExtractCounts

    def findings(self) -> Findings:
        """Return every metric, sums by group, and the number of left-out texts."""
        measurements: list[Measurement] = [*self.units.measurements(), *self.extracts.measurements()]
        totals = {name: int(sums.sum()) for name, sums in self.extracts.state.counters.items()}
        details = {
            "groups": {name: sums.tolist() for name, sums in sorted(self.units.state.counters.items())},
            "unspelled": int(self.units.state.counters["unspelled"].sum()),
            "extracts": dict(sorted(totals.items())),
        }
        return Findings(tuple(measurements), details)

    def arrays(self) -> State:
        """Return arrays to keep next to a record."""
        return {**self.units.arrays(), **self.extracts.arrays()}

    @classmethod
    def of_arrays(cls, arrays: State) -> SegmentationCounts:
        """Inverse of ``arrays``."""
        return cls(UnitCounts.of_arrays(arrays), ExtractCounts.of_arrays(arrays))


def starts(work: Work) -> SegmentationPass:
    """Start the pass of a row: the whole corpus is read once, its extracts several times."""
    return SegmentationPass(work.segmenter(), row=work.spec.name, threads=work.threads)


def rederive(state: State, case: Case) -> Findings:
    """Recompute every number from the stored counts."""
    del case
    return SegmentationCounts.of_arrays(state).findings()


def _note_left_out(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Yield notes on texts that are not measured because units do not spell them."""
    del data
    lacking = {result.case.tokenizer: result.details.get("unspelled") for result in results}
    rows = [f"{row} {count:,}" for row, count in lacking.items() if isinstance(count, int) and count]
    if rows:
        yield f"Texts left out, because the tokens do not spell them: {', '.join(rows)}."


def _causal(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Name the rows that promise prefix stability."""
    del data
    rows = [result.case.tokenizer for result in results if result.details.get("is_causal") is True]
    if rows:
        yield f"By construction the units of a prefix are those of the whole text: {', '.join(dict.fromkeys(rows))}."


LENGTHS = Table(
    "Units",
    columns=(
        Column("bytes_per_unit", "bytes/unit", interval=True),
        Column("unit_bytes_deviation", "sd"),
        Column("unit_bytes_p50", "p50"),
        Column("unit_bytes_p99", "p99"),
        Column("largest_unit", "largest"),
        Column("units_per_1000_bytes", "units/kB"),
        Column("units_ending_inside_characters", "cut chars %"),
        Column("digit_alignment", "digits %", optional=True),
    ),
    notes=(
        _note_left_out,
        "cut chars: units that end inside a character; digits: numbers cut at the thousands.",
        "A unit is what a model would take at once. What its embedding and decoder make of it is not measured.",
    ),
    needs=("bytes_per_unit",),
)
STEADINESS = Table(
    "Stability of units",
    columns=(
        Column("cut_word_share", "cut words %", interval=True),
        Column("prefix_stability", "stable prefixes %", interval=True),
        Column("word_consistency", "words alike %", interval=True),
        Column("cut_word_consistency", "cut words alike %"),
        Column("cuts_per_word", "ways/word"),
        *(Column("noise_unit_ratio", title, part=title) for title in ("typos", "case", "spaces")),
    ),
    notes=(
        _causal,
        "words alike: pairs of the same word in two documents that are cut in the same places.",
        "cut words alike: of pairs with a cut word. ways/word: ways in which a repeated word is cut or left whole.",
        "typos, case, spaces: units per byte with noise, relative to those without.",
    ),
    needs=("prefix_stability",),
)

BENCHMARKS = (
    Benchmark(
        "segmentation",
        "lengths, cuts and stability of units of text (tokens, patches, words, sentences)",
        PassRun(starts),
        corpus="required",
        whole_text=True,
        pace=Pace(1.5, 0.2),
        metrics=(*units.REPORTED, *numbers.REPORTED, *words.REPORTED, *extracts.REPORTED),
        tables=(LENGTHS, STEADINESS),
        rederive=rederive,
    ),
)
