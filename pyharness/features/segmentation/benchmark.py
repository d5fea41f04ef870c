"""Segmentation: the units of a row, whether tokens, patches, words or sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pyharness import corpora
from pyharness.benchmarks import Benchmark, Findings, Pace, Work
from pyharness.corpora.streaming import BATCH_SIZE, batches
from pyharness.features.segmentation.metrics import extracts, numbers, units, words
from pyharness.features.segmentation.metrics.extracts import ExtractCounts, extract
from pyharness.features.segmentation.metrics.units import UnitCounts
from pyharness.metrics.counting.sampling import DocumentSample
from pyharness.statistics.jackknife import group_of
from pyharness.types import (
    Case,
    CaseResult,
    Column,
    Corpus,
    Digest,
    HasCalibration,
    HasSegments,
    Measurement,
    NotSpelled,
    State,
    Table,
    Tally,
)


@dataclass(slots=True)
class SegmentationPass:
    """One pass over a corpus or a shard of it. ``merge`` gives the pass over both."""

    segmenter: HasSegments
    units: UnitCounts = field(default_factory=UnitCounts)
    sample: DocumentSample[Digest] = field(default_factory=lambda: DocumentSample(extracts.SAMPLE_BYTES))
    tally: Tally = field(default_factory=Tally)

    def read(self, corpus: Corpus, threads: int = 1, progress: Any = lambda _: None) -> SegmentationPass:
        """Stream the corpus, a batch at a time.

        Raises:
            NotSpelled: the units of a text do not spell it, and the segmenter has not marked it as missing.
            InputError: units were fitted to a text of the corpus.
        """
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
                    self.sample.add(one.digest, extract(one.text), one.key)
            progress(self.tally.bytes)
        return self

    def merge(self, other: SegmentationPass) -> None:
        """Add the pass over another shard."""
        self.units.merge(other.units)
        self.sample.merge(other.sample)
        self.tally.merge(other.tally)

    def counted(self, threads: int = 1) -> SegmentationCounts:
        """Cut the extracts again, with noise and as prefixes; raise ``NotSpelled``."""
        return SegmentationCounts(self.units, ExtractCounts.count(self.segmenter, self.sample.documents(), threads))


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


def run(work: Work) -> Findings:
    """Read the whole corpus once, and its extracts several times."""
    segmenter = work.segmenter()
    passed = SegmentationPass(segmenter)
    try:
        counted = passed.read(work.text, work.threads, work.progress).counted(work.threads)
    except NotSpelled as reason:
        return Findings(status="failed", reason=f"{work.spec.name}: {reason}")
    findings = counted.findings()
    details = {**findings.details, "is_causal": segmenter.is_causal}
    return replace(findings, details=details, tally=passed.tally, state=counted.arrays())


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
        run,
        corpus="required",
        whole_text=True,
        pace=Pace(1.5, 0.2),
        metrics=tuple(metric.name for part in (units, numbers, words, extracts) for metric in part.REPORTED),
        tables=(LENGTHS, STEADINESS),
        rederive=rederive,
    ),
)
