"""Counts of extracts: the beginnings of a sample of texts, which are cut into units several times.

An extract is the beginning of a text up to 2 KiB, cut between two segments of UAX #29 where there are two. The sample
takes the texts with the smallest digests, as many extracts as fit 512 KiB. So their time hardly grows with the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.features.segmentation.metrics import variants, words
from pyharness.features.segmentation.metrics.units import NOTHING_SPELLED, add, unit_lengths
from pyharness.features.segmentation.metrics.words import CutKinds, WordPairs
from pyharness.metrics.counting import state_arrays
from pyharness.metrics.counting.state import CorpusMetric, CorpusState, Counts, measure
from pyharness.metrics.counting.words import UNSEGMENTED, Bounds, segments_of
from pyharness.statistics.jackknife import Undefined, group_of
from pyharness.types import PERCENT, Digest, Format, HasSegments, Measurement, Metric, Segments, State, digest_of

EXTRACT_BYTES = 2 << 10
SAMPLE_BYTES = 512 << 10
_PREFIX = "extracts "

Integers = NDArray[np.int64]


def extract(text: str) -> str:
    """Return the beginning of a text, at most 2 KiB of UTF-8, cut between segments of UAX #29 if it has several."""
    beginning = text[:EXTRACT_BYTES].encode()[:EXTRACT_BYTES].decode(errors="ignore")
    if len(beginning) == len(text):
        return text
    *whole, _ = segments_of(beginning)
    return "".join(whole) or beginning


@dataclass(frozen=True, slots=True)
class ExtractFigures:
    """Counts of each extract, which the state sums by group."""

    counts: Mapping[str, Integers]  # by name, int64 [extracts]; 0 for unspelled ones, except in pieces, unspelled
    words: Sequence[Mapping[str, words.Cut]]  # [extracts]: cut of each word of an extract, at one occurrence


@dataclass(slots=True)
class ExtractCounts:
    """Counts of extracts, by group of documents. Integers only."""

    state: CorpusState
    pairs: WordPairs

    @classmethod
    def count(cls, segmenter: HasSegments, sample: Sequence[tuple[str, Digest]], threads: int = 1) -> ExtractCounts:
        """Cut extracts, each with its document's key, and count. Raises ``NotSpelled``."""
        keys = [key for _, key in sample]
        figures = Cutting(segmenter, threads).figures([text for text, _ in sample])
        spelled = np.flatnonzero(figures.counts["unspelled"] == 0).tolist()
        opens = np.zeros(len(keys), np.int64)
        opens[list({keys[place]: place for place in spelled}.values())] = 1  # one of each document
        state, groups = CorpusState.of_sums(), np.array([group_of(key) for key in keys], np.int64)
        for name, values in {"documents": opens, **figures.counts}.items():
            add(state, name, groups, values)
        kinds, numbers = CutKinds.numbered(list(chain.from_iterable(cuts.items() for cuts in figures.words)))
        of_words = np.repeat(groups, list(map(len, figures.words)))
        return cls(state, WordPairs.of(kinds.by_group(numbers, of_words), kinds))

    def measurements(self) -> list[Measurement]:
        """Return every metric of extracts."""
        measurements = measure(self.state, [_STABILITY, _CUT_WORDS])
        try:
            _need_words(self.state.total())
            measurements += self.pairs.measure(self.state.counters["documents"].tolist())
        except Undefined as reason:
            measurements += [Measurement(metric.name, None, reason=str(reason)) for metric in words.REPORTED]
        for kind in variants.NOISE:
            about = CorpusMetric(_NOISE, lambda counts, kind=kind: _noise(counts, kind))  # type: ignore[misc]
            (one,) = measure(self.state, [about])
            measurements.append(replace(one, part=kind, **_WITHOUT_INTERVAL.get(kind, {})))
        return measurements

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep next to a record."""
        counted = {**state_arrays.of_counters(self.state.counters), **self.pairs.arrays()}
        return {_PREFIX + name: array for name, array in counted.items()}

    @classmethod
    def of_arrays(cls, arrays: State) -> ExtractCounts:
        """Inverse of ``arrays``."""
        own = {name.removeprefix(_PREFIX): array for name, array in arrays.items() if name.startswith(_PREFIX)}
        return cls(CorpusState.of_sums(state_arrays.counters_of(own)), WordPairs.of_arrays(own))


# ---------------------------------------------------------------------------------------------- counting


@dataclass(frozen=True, slots=True)
class Cutting:
    """Cutter of extracts with one segmenter. Every method may raise ``NotSpelled``."""

    segmenter: HasSegments
    threads: int = 1

    def figures(self, texts: Sequence[str]) -> ExtractFigures:
        """Return all counts of extracts."""
        segments, sizes = self.segmented(texts)
        spelled = np.flatnonzero(~segments.missing)
        clean = Clean(
            [texts[place] for place in spelled.tolist()],
            [digest_of(texts[place]) for place in spelled.tolist()],
            [segments.document(place) for place in spelled.tolist()],
            sizes[spelled],
        )
        counts = {"pieces": np.ones(len(texts), np.int64), "unspelled": segments.missing.astype(np.int64)}
        cuts = [list(words.cut_words(text, ends)) for text, ends in zip(clean.texts, clean.ends, strict=True)]
        for name, values in {**self.prefixes(clean), **self.noise(clean), **_word_counts(cuts)}.items():
            counts[name] = np.zeros(len(texts), np.int64)
            counts[name][spelled] = values
        one_each = [words.one_of_each(of_text, seed) for of_text, seed in zip(cuts, clean.seeds, strict=True)]
        by_place = dict(zip(spelled.tolist(), one_each, strict=True))
        return ExtractFigures(counts, [by_place.get(place, {}) for place in range(len(texts))])

    def segmented(self, texts: Sequence[str]) -> tuple[Segments, Integers]:
        """Return the checked units of texts, and the sizes of the texts in bytes."""
        sizes = np.array([len(text.encode()) for text in texts], np.int64)
        segments = self.segmenter.segment_batch(texts, self.threads)
        unit_lengths(segments, sizes)
        return segments, sizes

    def prefixes(self, clean: Clean) -> dict[str, Integers]:
        """Count the prefixes that their units spell, and the stable ones among them."""
        cuts = [variants.prefix_cuts(text, seed) for text, seed in zip(clean.texts, clean.seeds, strict=True)]
        owners = np.repeat(np.arange(len(cuts)), np.array(list(map(len, cuts)), np.int64))
        texts = [text[:cut] for text, places in zip(clean.texts, cuts, strict=True) for cut in places]
        segments, _ = self.segmented(texts)
        spelled = np.flatnonzero(~segments.missing).tolist()
        stable = [place for place in spelled if variants.is_stable(clean.ends[owners[place]], segments.document(place))]
        most = len(clean.texts)
        return {
            "prefixes": np.bincount(owners[spelled], minlength=most),
            "stable prefixes": np.bincount(owners[stable], minlength=most),
        }

    def noise(self, clean: Clean) -> dict[str, Integers]:
        """Count units with and without noise; texts whose noisy form units do not spell are left out of both."""
        counts: dict[str, Integers] = {}
        for kind, change in variants.NOISE.items():
            texts = [change(text, seed) for text, seed in zip(clean.texts, clean.seeds, strict=True)]
            segments, sizes = self.segmented(texts)
            counted = {
                "changed": np.array([text != other for text, other in zip(texts, clean.texts, strict=True)], np.int64),
                "units": np.diff(segments.offsets),
                "bytes": sizes,
                "clean units": np.array(list(map(len, clean.ends)), np.int64),
                "clean bytes": clean.sizes,
            }
            counts |= {f"{kind} {name}": np.where(segments.missing, 0, values) for name, values in counted.items()}
        return counts


@dataclass(frozen=True, slots=True)
class Clean:
    """Extracts that their units spell, with these units."""

    texts: Sequence[str]
    seeds: Sequence[Digest]
    ends: Sequence[Bounds]
    sizes: Integers  # in bytes


def _word_counts(cuts: Sequence[Sequence[tuple[str, words.Cut]]]) -> dict[str, Integers]:
    def counted(chosen: Callable[[str, words.Cut], bool]) -> Integers:
        return np.array([sum(chosen(word, cut) for word, cut in of_text) for of_text in cuts], np.int64)

    return {
        "words": np.array(list(map(len, cuts)), np.int64),
        "cut words": counted(lambda _, cut: bool(cut)),
        "unsegmented words": counted(lambda word, _: UNSEGMENTED.search(word) is not None),
    }


# ---------------------------------------------------------------------------------------------- metrics


def _need_words(counts: Counts) -> int:
    if counts["words"] == 0:
        raise Undefined("the extracts that are spelled by their units have no words")
    if 2 * counts["unsegmented words"] > counts["words"]:
        raise Undefined("the text is mostly in a script written without spaces, where UAX #29 cuts characters")
    return counts["words"]


def _share_cut(counts: Counts) -> float:
    """Return words with a unit's end inside / words."""
    return counts["cut words"] / _need_words(counts)


def _stability(counts: Counts) -> float:
    """Return stable prefixes / prefixes."""
    if counts["pieces"] == counts["unspelled"]:
        raise Undefined(NOTHING_SPELLED)
    if counts["prefixes"] == 0:
        raise Undefined("no extract has two characters to cut between, of which its units spell the first")
    return counts["stable prefixes"] / counts["prefixes"]


def _noise(counts: Counts, kind: str) -> float:
    """Return units per byte with noise / units per byte without."""
    if counts[f"{kind} clean units"] == 0:
        raise Undefined(NOTHING_SPELLED)
    if counts[f"{kind} changed"] == 0:
        raise Undefined(f"the extracts have nothing that noise of the kind {kind!r} changes")
    noisy, clean = (counts[f"{kind} {name}units"] / counts[f"{kind} {name}bytes"] for name in ("", "clean "))
    return noisy / clean


_RATIO = Format("{:.3f}")
_STABILITY = CorpusMetric(
    Metric(
        "prefix_stability", "share", "higher", "prefixes whose units start where those of the whole text start",
        format=PERCENT,
    ),
    _stability,
)  # fmt: skip
_CUT_WORDS = CorpusMetric(
    Metric("cut_word_share", "share", "lower", "words of extracts inside which a unit ends", format=PERCENT), _share_cut
)
_NOISE = Metric(
    "noise_unit_ratio", "ratio", "lower", "units per byte with typos, other case or doubled spaces, over those without",
    format=_RATIO,
)  # fmt: skip
_FEW_INDENTED = "indented documents decide it: of code cut by patches, replicates held 90 %"
_WITHOUT_INTERVAL: Mapping[str, Mapping[str, Any]] = {"spaces": {"replicates": (), "no_interval": _FEW_INDENTED}}
REPORTED = (_STABILITY.about, _CUT_WORDS.about, _NOISE)
