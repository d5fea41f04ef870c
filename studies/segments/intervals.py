"""How often a 95 % interval of ``segmentation`` holds the value of the pool that its documents are drawn from.

    PYHARNESS_DATA=... python studies/segments/intervals.py --output intervals.md

Sub-corpora are drawn as in ``coverage.py``, of cut documents: those are what the suites read. Every piece is cut into
units once, and its extract as often as the benchmark does it; a draw adds up what was counted. Like the benchmark, a
draw has extracts of 512 KiB at most, of pieces that are chosen by chance. A document that is drawn twice stands for two
of its kind, but its words are not paired with themselves. What an interval should hold is the value on all of the pool
and on all of its extracts. A row may be anything that cuts text: a tokenizer, patches, sentences.

``--growth`` prints means over the draws instead, with 1/8, 1/4, 1/2 and all of the extracts: what grows has others.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path[:0] = [str(Path(__file__).parents[1])]
import coverage  # noqa: E402
from coverage import KINDS, Pair, Setting, collect, fitting, markdown, opened  # noqa: E402
from document_states import Documents, Drawn  # noqa: E402
from pyharness import tokenizers  # noqa: E402
from pyharness.corpora.streaming import batches  # noqa: E402
from pyharness.features.segmentation.metrics import units  # noqa: E402
from pyharness.features.segmentation.metrics.extracts import SAMPLE_BYTES, Cutting, ExtractCounts, extract  # noqa: E402
from pyharness.features.segmentation.metrics.numbers import counts as number_counts  # noqa: E402
from pyharness.features.segmentation.metrics.words import CutKinds, WordPairs  # noqa: E402
from pyharness.metrics.counting.state import CorpusState  # noqa: E402
from pyharness.statistics.jackknife import MIN_DOCUMENTS  # noqa: E402
from pyharness.tokenizers.segmenting import segmenter  # noqa: E402
from pyharness.types import HasSegments, Measurement, offsets_of  # noqa: E402

POOL_BYTES = 8_000_000
EXTRACTS_AT_ONCE = 512
PARTS = (8, 4, 2, 1)  # of the extracts, to see what grows with them

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PieceFigures:
    """What one row makes of every piece of a pool, and of its extract: integers [pieces], and lists laid end to end."""

    units: Mapping[str, Integers]
    lengths: Integers  # of units, end to end
    length_offsets: Integers
    extracts: Mapping[str, Integers]
    extract_bytes: Integers
    words: Integers  # numbers of kinds, end to end
    word_offsets: Integers
    kinds: CutKinds
    starts: Integers  # of the pieces of every document

    @classmethod
    def of(cls, cutter: HasSegments, documents: Documents) -> PieceFigures:
        """Cut everything once."""
        texts = [piece.text for piece in documents.pieces]
        encoded = [text.encode() for text in texts]
        sizes = np.array(list(map(len, encoded)), np.int64)
        segments = cutter.segment_batch(texts)
        inside, counts = units.inside_characters(encoded, segments), np.diff(segments.offsets)
        of_units = {
            "pieces": np.ones(len(texts), np.int64),
            "unspelled": segments.missing.astype(np.int64),
            "bytes": np.where(segments.missing, 0, sizes),
            "units": counts,
            "inside characters": np.diff(offsets_of(inside)[segments.offsets]),
            **number_counts(encoded, segments),
        }
        shortened = [extract(text) for text in texts]
        found = [Cutting(cutter).figures(part) for part in batches(shortened, count=EXTRACTS_AT_ONCE)]
        words = [list(piece.items()) for part in found for piece in part.words]
        kinds, numbers = CutKinds.numbered(list(chain.from_iterable(words)))
        return cls(
            of_units,
            units.unit_lengths(segments, sizes),
            offsets_of(counts),
            {name: np.concatenate([part.counts[name] for part in found]) for name in found[0].counts},
            np.array([len(text.encode()) for text in shortened], np.int64),
            numbers,
            offsets_of(list(map(len, words))),
            kinds,
            documents.starts,
        )

    def measure(self, drawn: Drawn, opens: Integers, sample: Integers) -> list[Measurement]:
        """Every metric of a sub-corpus; ``sample``: places in ``drawn.pieces`` of those whose extracts count."""
        text, lengths = CorpusState.of_sums(), units.UnitLengths.empty()
        units.add(text, "documents", drawn.groups, opens)
        for name, values in self.units.items():
            units.add(text, name, drawn.groups, values[drawn.pieces])
        lengths.add(*_laid_out(self.lengths, self.length_offsets, drawn.pieces, drawn.groups))
        state, pieces, groups = CorpusState.of_sums(), drawn.pieces[sample], drawn.groups[sample]
        firsts = np.zeros(len(sample), np.int64)
        firsts[np.unique(np.cumsum(opens)[sample], return_index=True)[1]] = 1
        documents = np.repeat(drawn.documents, np.diff(self.starts)[drawn.documents])[sample]
        for name, values in {"documents": firsts, **{n: v[pieces] for n, v in self.extracts.items()}}.items():
            units.add(state, name, groups, values)
        counted = ExtractCounts(state, self.pairs(pieces, groups, documents))
        return [*units.UnitCounts(text, lengths).measurements(), *counted.measurements()]

    def pairs(self, pieces: Integers, groups: NDArray[Any], documents: Integers) -> WordPairs:
        """Pairs of words, but for those of a document with itself, which is drawn twice: no corpus has it twice."""
        words = WordPairs.of(self.kinds.by_group(*self._words(pieces, groups)), self.kinds)
        for document in _drawn_again(documents, groups):
            own = documents == document
            numbers, of_words = self._words(pieces[own], groups[own])
            kinds, local = np.unique(numbers, return_inverse=True)
            _, types = np.unique(self.kinds.types[kinds], return_inverse=True)
            few = CutKinds(types, self.kinds.are_uncut[kinds])
            of_itself = WordPairs.of(few.by_group(local, of_words), few)
            words.pairs -= of_itself.pairs
            words.alike -= of_itself.alike
            words.uncut -= of_itself.uncut
        return words

    def _words(self, pieces: Integers, groups: NDArray[Any]) -> tuple[Integers, Integers]:
        return _laid_out(self.words, self.word_offsets, pieces, groups)


def _drawn_again(documents: Integers, groups: NDArray[Any]) -> list[int]:
    """Documents that stand in two groups."""
    places = np.unique(np.stack((documents, groups.astype(np.int64))), axis=1)[0]
    numbers, counts = np.unique(places, return_counts=True)
    return [int(number) for number in numbers[counts > 1]]


def _laid_out(values: Integers, offsets: Integers, pieces: Integers, groups: NDArray[Any]) -> tuple[Integers, Integers]:
    """Values of some pieces, end to end, with their groups."""
    counts = np.diff(offsets)[pieces]
    first = np.repeat(offsets[pieces] - (np.cumsum(counts) - counts), counts)
    return values[first + np.arange(counts.sum())], np.repeat(groups.astype(np.int64), counts)


def opening(documents: Documents, drawn: Drawn) -> Integers:
    """Which pieces of a sub-corpus are the first of a document, 0 or 1."""
    opens = np.zeros(len(drawn.pieces), np.int64)
    opens[offsets_of(np.diff(documents.starts)[drawn.documents])[:-1]] = 1
    return opens


def simulate(
    documents: Documents, pair: Sequence[PieceFigures], size: int, draws: int, most: int = SAMPLE_BYTES, seed: int = 1
) -> Iterator[Pair]:
    """Measure both rows on sub-corpora of the text of ``size`` mean documents, with extracts of ``most`` bytes."""
    generator = np.random.default_rng(seed)
    while draws > 0:
        drawn = documents.draw(size, generator)
        if len(drawn.documents) >= MIN_DOCUMENTS:
            draws -= 1
            order = generator.permutation(len(drawn.pieces))
            fits = np.cumsum(pair[0].extract_bytes[drawn.pieces[order]]) <= most
            yield measured(documents, pair, drawn, np.sort(order[fits]))


def measured(documents: Documents, pair: Sequence[PieceFigures], drawn: Drawn, sample: Integers) -> Pair:
    """Every metric of both rows on one sub-corpus."""
    opens = opening(documents, drawn)
    first, second = (row.measure(drawn, opens, sample) for row in pair)
    return first, second


def study(given: argparse.Namespace, name: str) -> dict[Setting, Any]:
    """All sizes of one kind of text, with the number of documents in its pool."""
    kind = next(kind for kind in KINDS if kind.name == name)
    documents = Documents.read(opened(kind, given.data, kind.cut, POOL_BYTES))
    pair = []
    for row in given.rows:
        spec = tokenizers.resolve(row.format(data=given.data))
        pair.append(PieceFigures.of(segmenter(spec, partial(tokenizers.load, spec)), documents))
    whole = documents.whole()
    truth = measured(documents, pair, whole, np.arange(len(whole.pieces)))
    found: dict[Setting, Any] = {}
    for size in fitting(given.sizes, len(documents)):
        if given.growth:
            for part in PARTS:
                drawn = simulate(documents, pair, size, given.draws, SAMPLE_BYTES // part)
                found[Setting(name, f"extracts / {part}", size)] = means(drawn)
        else:
            drawn = simulate(documents, pair, size, given.draws)
            found[Setting(name, "cut", size)] = len(documents), collect(truth, drawn)
    return found


def means(drawn: Iterator[Pair]) -> str:
    """Means of both rows over all draws, with twice their standard errors, a line for each metric."""
    values: dict[str, list[list[float]]] = {}
    for pair in drawn:
        for row, measurements in enumerate(pair):
            for one in measurements:
                if one.value is not None:
                    name = one.metric if one.part is None else f"{one.metric} {one.part}"
                    values.setdefault(name, [[], []])[row].append(float(one.value))
    lines = []
    for name, rows in values.items():
        shown = [f"{np.mean(row):.5g} ±{2 * np.std(row) / np.sqrt(len(row)):.2g}" for row in rows]
        lines.append(f"{name}: {', '.join(shown)}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate every kind of text, each in a process of its own, and print the table."""
    names = [kind.name for kind in KINDS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100], help="documents of a sub-corpus")
    parser.add_argument("--kinds", nargs="+", default=names, choices=names)
    parser.add_argument("--rows", nargs=2, default=list(coverage.ROWS), help="two rows; {data} is the data folder")
    parser.add_argument("--growth", action="store_true", help="means by size instead of coverage")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--output", type=Path, help="Markdown; standard output too")
    parser.add_argument("--data", default=os.environ.get("PYHARNESS_DATA"), help="default: PYHARNESS_DATA")
    given = parser.parse_args(arguments)
    if not given.data:
        parser.error("set PYHARNESS_DATA to the folder of data, or give --data")
    simulated: dict[Setting, Any] = {}
    with get_context("spawn").Pool(given.processes) as pool:
        for part in pool.imap(partial(study, given), given.kinds):
            simulated |= part
    if given.growth:
        text = "".join(f"{one.kind}, {one.how}\n{lines}\n" for one, lines in simulated.items())
    else:
        text = markdown(simulated, given.draws)
    if given.output:
        given.output.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
