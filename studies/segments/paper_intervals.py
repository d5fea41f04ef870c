"""How often the CIs of ``morphology``, ``distribution`` and ``languages`` hold: draws of words, documents and rows.

    PYHARNESS_DATA=... python studies/segments/paper_intervals.py --gold words.csv --output intervals.md

Words of a gold file, documents of a corpus and rows of aligned text are drawn with replacement. Each draw has the
library's groups, replicates and CIs, of two tokenizers and of their difference. What a CI should hold is the number of
the whole pool; of a metric that grows with the text, the mean over all draws.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))
from coverage import FLORES, KINDS, ROWS, DrawsByName, collect, opened
from pyharness import corpora, tokenizers
from pyharness.features.distribution import languages
from pyharness.features.distribution.benchmark import SpreadCounts, measurements
from pyharness.features.distribution.documents import DocumentRows
from pyharness.features.distribution.sequences import WIDTHS, cut_characters, window_types
from pyharness.features.morphology.benchmark import score
from pyharness.features.morphology.gold import read_gold
from pyharness.features.morphology.scores import WordScores, measure
from pyharness.metrics.counting.state import CorpusState, Facts
from pyharness.metrics.fairness import FairnessState
from pyharness.statistics.jackknife import GROUPS, group_of
from pyharness.tokenizers.segmenting import segmenter_of
from pyharness.types import Measurement, ParallelCorpus, Tally, Tokenizer, Tokens, digest_of

Integers = NDArray[np.int64]
Measure = Callable[[Integers, Sequence[bytes]], Sequence[Measurement]]  # of drawn items, with their keys
ALPHA, WINDOW = 2.5, 100


def simulate(pair: Sequence[Measure], pool: int, size: int, draws: int, seed: int = 1) -> DrawsByName:
    """Draw ``size`` of ``pool`` items, again and again, and measure each draw with both rows."""
    generator = np.random.default_rng(seed)

    def measured(chosen: Integers) -> tuple[Sequence[Measurement], Sequence[Measurement]]:
        salt = int(generator.integers(1 << 62))
        keys = [digest_of(f"{salt} {place}") for place in range(len(chosen))]
        first, second = (measure_of(chosen, keys) for measure_of in pair)
        return first, second

    whole = measured(np.arange(pool))
    return collect(whole, (measured(generator.integers(0, pool, size)) for _ in range(draws)))


def groups_of(keys: Sequence[bytes]) -> Integers:
    """Groups of drawn items."""
    return np.array([group_of(key) for key in keys], np.int64)


def of_words(row: Tokenizer, gold: str) -> tuple[Measure, int]:
    """Scores of gold words."""
    scores = score(segmenter_of(row), read_gold(gold).words, space=False)

    def measured(chosen: Integers, keys: Sequence[bytes]) -> Sequence[Measurement]:
        outcomes = scores.outcomes[chosen]
        outcomes[:, 4] = groups_of(keys)
        weights = None if scores.frequencies is None else scores.frequencies[chosen]
        return list(measure(WordScores(outcomes, weights, 0)))

    return measured, len(scores.outcomes)


def of_documents(row: Tokenizer, texts: Sequence[str]) -> tuple[Measure, int]:
    """Spread of the tokens of documents. Only ids that occur take part: others change no number."""
    tokens = row.encode_batch(texts)
    facts = Facts.of(row)
    assert facts.vocabulary is not None
    wide, cut = cut_characters(tokens, texts, facts.vocabulary)
    types, windows = window_types(tokens, WINDOW)
    _, ids = np.unique(tokens.ids, return_inverse=True)
    size = int(ids.max()) + 1
    small = Facts(size, np.ones(size, np.bool_), facts.vocabulary, lossy=False)
    counts = {"window_types": types, "windows": windows, "bytes": np.array([len(text.encode()) for text in texts])}
    for column, width in enumerate(WIDTHS):
        counts |= {f"wide_{width}": wide[:, column], f"cut_{width}": cut[:, column]}
    counts |= dict.fromkeys(("documents", "pieces"), np.ones(len(texts), np.int64))
    counts["tokens"] = np.diff(tokens.offsets)

    def measured(chosen: Integers, keys: Sequence[bytes]) -> Sequence[Measurement]:
        state, rows, groups = CorpusState.empty(small), DocumentRows(), groups_of(keys)
        for name, values in counts.items():
            state.add(name, np.bincount(groups, values[chosen], GROUPS).astype(np.int64))
        for one, group, key in zip(chosen.tolist(), groups.tolist(), keys, strict=True):
            inside = ids[tokens.offsets[one] : tokens.offsets[one + 1]]
            np.add.at(state.histogram[group], inside, np.uint64(1))
            rows.add(key, True, int(counts["bytes"][one]), len(inside))
        return list(measurements(SpreadCounts(state, rows), ALPHA, WINDOW))

    return measured, len(texts)


def of_rows(row: Tokenizer, corpus: ParallelCorpus) -> tuple[Measure, int]:
    """Use of a vocabulary by languages. Only ids that occur take part: others change no number."""
    texts = [[one[name] for name in corpus.languages] for one in corpus.rows(Tally())]
    facts = Facts.of(row)
    assert facts.lengths is not None
    encoded = [row.encode_batch(one) for one in texts]
    kept = np.unique(np.concatenate([one.ids for one in encoded]))
    encoded = [Tokens(np.searchsorted(kept, one.ids).astype(np.uint32), one.offsets) for one in encoded]
    learned = (facts.counted & (facts.lengths > 1))[kept]
    scripts = tuple(name[-4:] for name in corpus.languages)
    sizes = np.array([[len(text.encode()) for text in one] for one in texts])

    def measured(chosen: Integers, keys: Sequence[bytes]) -> Sequence[Measurement]:
        masks = np.zeros((len(corpus.languages), len(kept)), np.uint32)
        costs = FairnessState.empty(corpus.languages, corpus.reference)
        use = languages.LanguageUse(costs, masks, facts.vocab_size, learned, scripts)
        for one, group in zip(chosen.tolist(), groups_of(keys).tolist(), strict=True):
            use.mark(encoded[one], [group])
            use.costs.update(group, np.diff(encoded[one].offsets), sizes[one])
        return list(languages.measurements(use, dict(zip(corpus.languages, scripts, strict=True)), {}))

    return measured, len(texts)


def lines(title: str, draws_of: DrawsByName, draws: int) -> Iterator[str]:
    """A table: coverage of single and paired CIs in per cent, and per cent of draws that show both."""
    yield from ("", f"{title}, {draws} draws", "", "| metric | single | paired | shown |", "| :-- | --: | --: | --: |")
    for name, one in draws_of.items():
        single, paired = one.coverage()
        shown = ["-" if share is None else f"{share:.1f}" for share in (single, paired)]
        yield f"| {name} | {' | '.join(shown)} | {100 * len(one.values) / one.drawn:.0f} |"


def main(arguments: Sequence[str] | None = None, emit: Callable[[str], object] = sys.stdout.write) -> None:
    """Simulate what is asked for, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--size", type=int, default=400, help="words, documents or rows of a draw")
    parser.add_argument("--gold", help="file of gold words; without it, morphology is left out")
    parser.add_argument(
        "--kinds", nargs="*", default=["Wikipedia", "code", "FLORES"], choices=[*(one.name for one in KINDS), "FLORES"]
    )
    parser.add_argument("--output", type=Path)
    parser.add_argument("--data", default=os.environ.get("PYHARNESS_DATA"), help="default: PYHARNESS_DATA")
    given = parser.parse_args(arguments)
    if not given.data:
        parser.error("set PYHARNESS_DATA to the folder of data, or give --data")
    rows = [tokenizers.load(row.format(data=given.data)) for row in ROWS]
    written: list[str] = []
    for name, measures in _pools(given, rows):
        (first, pool), (second, _) = measures
        draws_of = simulate((first, second), pool, given.size, given.draws)
        written += lines(f"{name}: {given.size} of {pool:,}", draws_of, given.draws)
    text = "\n".join(written[1:]) + "\n"
    if given.output:
        given.output.write_text(text, encoding="utf-8")
    emit(text)


def _pools(given: argparse.Namespace, rows: Sequence[Tokenizer]) -> Iterator[tuple[str, list[tuple[Measure, int]]]]:
    if given.gold:
        yield "words", [of_words(row, given.gold) for row in rows]
    for name in given.kinds:
        if name == "FLORES":
            corpus = corpora.open_corpus(FLORES.format(data=given.data))
            assert isinstance(corpus, ParallelCorpus)
            yield name, [of_rows(row, corpus) for row in rows]
        else:
            kind = next(one for one in KINDS if one.name == name)
            texts = list(dict.fromkeys(opened(kind, given.data, kind.cut, cap=4_000_000).documents(Tally())))
            yield name, [of_documents(row, texts) for row in rows]


if __name__ == "__main__":
    main()
