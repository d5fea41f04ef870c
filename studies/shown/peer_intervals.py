"""How often a 95 % CI of ``code`` and ``noise`` holds the value that its draws are of.

    PYHARNESS_DATA=... PYTHONPATH=studies python studies/shown/peer_intervals.py --output intervals.md

Sub-corpora of whole documents are drawn as in ``coverage.py``, from the code of each language and, for ``noise``, from
books. Documents of very unequal size give no CI, so long ones are left out. Every document is counted once, and a draw
adds up counts.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coverage import ROWS, DrawsByName, Pair, Setting, collect, fitting, markdown
from document_states import Documents, Drawn
from pyharness import corpora, tokenizers
from pyharness.benchmarks import Work
from pyharness.corpora.files.splitting import Fragment
from pyharness.corpora.options import MAX_DOCUMENT_BYTES
from pyharness.corpora.streaming import TextCorpus
from pyharness.features.code import metrics as code_metrics
from pyharness.features.code.benchmark import CodePass
from pyharness.features.code.metrics import CodeCounts
from pyharness.features.robustness import noise
from pyharness.features.robustness.noise import EXTRACT_BYTES, Extract, NoiseCounts
from pyharness.statistics.jackknife import GROUPS, MIN_DOCUMENTS
from pyharness.types import Case, Measurement, Tally

CODE = ("python", "cpp", "java", "kotlin", "rust")
BOOKS = "path:{data}/corpora/english/books.jsonl.xz?max_bytes=8MB"
OF_CODE = "path:{data}/corpora/code/{language}.jsonl.xz"
Integers = NDArray[np.int64]
Measure = Callable[[Integers], Sequence[Measurement]]  # of sums by group, [GROUPS, ...]


def corpus_of(texts: Sequence[str]) -> TextCorpus:
    """Return a corpus of given documents."""
    return TextCorpus("texts", lambda: map(Fragment, texts), "und", "", "", "texts", None, MAX_DOCUMENT_BYTES)


def code_counts(row: str, language: str, texts: Sequence[str]) -> Integers:
    """Count every document by itself, int64 [documents, columns]."""
    tokenizer, spec = tokenizers.load(row), tokenizers.resolve(row)
    work = Work(Case("code", row, "text", {"language": language}), spec, lambda: tokenizer, corpus_of(()), 1)
    first = CodePass.start(work)
    passes = (CodePass(work, language, first.lex, first.segmenter).read(corpus_of((text,))) for text in texts)
    return np.array([one.counts.sums.sum(axis=0) for one in passes])


def noise_counts(row: str, texts: Sequence[str]) -> Integers:
    """Count the extract of every document by itself, int64 [documents, 2 + sums]: the first columns are 1."""
    tokenizer, rows = tokenizers.load(row), []
    for text in texts:
        counts = NoiseCounts()
        extract = text[:EXTRACT_BYTES].encode()[:EXTRACT_BYTES].decode(errors="ignore")
        counts.add(tokenizer, [Extract(extract, 0, True)], 0)
        rows.append(np.append(counts.texts[0], counts.sums[0].ravel()))
    return np.array(rows)


def of_code(sums: Integers) -> list[Measurement]:
    """Return the numbers of ``code``."""
    return list(code_metrics.measure(CodeCounts(sums)))


def of_noise(sums: Integers) -> list[Measurement]:
    """Return the numbers of ``noise``."""
    shape = NoiseCounts().sums.shape
    return list(noise.measure(NoiseCounts(sums[:, :2], sums[:, 2:].reshape(shape))))


def by_group(counts: Integers, drawn: Drawn) -> Integers:
    """Add up the counts of drawn documents by group, int64 [GROUPS, columns]."""
    sums = np.zeros((GROUPS, counts.shape[1]), np.int64)
    np.add.at(sums, drawn.groups, counts[drawn.pieces])
    return sums


def simulate(
    documents: Documents, pair: Sequence[Integers], measure: Measure, size: int, draws: int, seed: int = 1
) -> DrawsByName:
    """Draw sub-corpora of the text of ``size`` mean documents, and measure both rows on each."""
    generator = np.random.default_rng(seed)

    def measured(drawn: Drawn) -> Pair:
        first, second = (measure(by_group(counts, drawn)) for counts in pair)
        return first, second

    sub_corpora = (documents.draw(size, generator) for _ in count())
    large = (drawn for drawn in sub_corpora if len(drawn.documents) >= MIN_DOCUMENTS)
    return collect(measured(documents.whole()), map(measured, islice(large, draws)))


def study(given: argparse.Namespace, name: str) -> dict[Setting, tuple[int, DrawsByName]]:
    """All sizes of one kind of text."""
    rows = [row.format(data=given.data) for row in given.rows]
    spec = BOOKS if name == "books" else OF_CODE
    whole = corpora.open_corpus(spec.format(data=given.data, language=name)).documents(Tally())
    documents = Documents.read(corpus_of([text for text in whole if len(text.encode()) <= given.most]))
    texts = [piece.text for piece in documents.pieces]
    measure: Measure = of_noise if name == "books" else of_code
    pair = [noise_counts(row, texts) if name == "books" else code_counts(row, name, texts) for row in rows]
    return {
        Setting(name, "uncut", size): (len(documents), simulate(documents, pair, measure, size, given.draws))
        for size in fitting(given.sizes, len(documents))
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate every kind of text, each in a process of its own, and print the table."""
    names = [*CODE, "books"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100], help="documents of a sub-corpus")
    parser.add_argument("--kinds", nargs="+", default=names, choices=names)
    parser.add_argument("--most", type=int, default=32768, help="bytes of a document; longer ones are left out")
    parser.add_argument("--rows", nargs=2, default=list(ROWS), help="two rows; {data} is the data folder")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--output", type=Path, help="Markdown; standard output too")
    parser.add_argument("--data", default=os.environ.get("PYHARNESS_DATA"), help="default: PYHARNESS_DATA")
    given = parser.parse_args(arguments)
    if not given.data:
        parser.error("set PYHARNESS_DATA to the folder of data, or give --data")
    simulated: dict[Setting, tuple[int, DrawsByName]] = {}
    with get_context("spawn").Pool(given.processes) as pool:
        for part in pool.imap(partial(study, given), given.kinds):
            simulated |= part
    text = markdown(simulated, given.draws)
    if given.output:
        given.output.write_text(text, encoding="utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
