"""How often the 95 % CIs of the columns that papers print hold: morphology, spread, languages, code, noise.

    PYHARNESS_DATA=... PYTHONPATH=studies python -m columns --gold words.csv --output columns.md

Words of a gold file, documents and rows of aligned text are drawn with replacement. Each draw has the library's groups,
replicates and CIs, of two tokenizers and of their difference. What a CI should hold is the number of the whole pool; of
a metric that grows with the text, the mean over all draws. Gold words get the frequencies that they have in books. The
exit status is 1 where a CI that is shown holds in under 93 or over 97 % of the draws, rounded to whole per cents.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from boards import table
from columns.aligned import of_rows, of_words, with_frequencies
from columns.drawing import CoverageLine, Measure, MeasuredPool, lines_of, simulate
from columns.texts import of_code, of_documents, of_kinds, of_noise
from coverage import FLORES, KINDS, ROWS, opened
from pyharness import corpora, tokenizers
from pyharness.features.morphology.gold import read_gold
from pyharness.types import ParallelCorpus, Tally, Tokenizer

CODE = ("python", "cpp", "java", "kotlin", "rust")
BOOKS = "path:{data}/corpora/english/books.jsonl.xz?max_bytes=8MB"
OF_CODE = "path:{data}/corpora/code/{language}.jsonl.xz"
LINES = "lines of FLORES"
DOCUMENTS = ("Wikipedia", "code", "Hindi", LINES)
NOISY = ("books", "Wikipedia", "Hindi", LINES)
LONGEST = 32 << 10  # bytes of a document of code or a book: documents of very unequal size give no CI
POOLS = (
    "words", *DOCUMENTS, "FLORES", *(f"kinds, {name}" for name in DOCUMENTS), *(f"noise, {name}" for name in NOISY),
    *(f"leaves, {language}" for language in CODE),
)  # fmt: skip
HEAD = ["pool", "number", "single", "paired", "draws with both", "outside"]


def short(spec: str) -> list[str]:
    """Documents of a corpus that are not very long, each once."""
    texts = corpora.open_corpus(spec).documents(Tally())
    return [text for text in dict.fromkeys(texts) if len(text.encode()) <= LONGEST]


def aligned(data: str) -> ParallelCorpus:
    """Rows of FLORES."""
    corpus = corpora.open_corpus(FLORES.format(data=data))
    assert isinstance(corpus, ParallelCorpus)
    return corpus


def documents_of(name: str, data: str) -> list[str]:
    """Documents of a kind of text, each once: short ones, pieces of long ones, or lines of all languages."""
    if name == "books":
        return short(BOOKS.format(data=data))
    if name == LINES:
        rows = aligned(data)
        return list(dict.fromkeys(row[language] for row in rows.rows(Tally()) for language in rows.languages))
    kind = next(one for one in KINDS if one.name == name)
    return list(dict.fromkeys(opened(kind, data, kind.cut, cap=4_000_000).documents(Tally())))


def pool_of(name: str, gold: str | None, data: str) -> MeasuredPool | None:
    """Return a pool with both rows' measures; None for words without a gold file."""
    specs = [row.format(data=data) for row in ROWS]
    measure: Callable[[Tokenizer], tuple[Measure, int]]
    if name.startswith("leaves, "):
        language = name.removeprefix("leaves, ")
        texts = short(OF_CODE.format(data=data, language=language))
        first, second = (of_code(spec, language, texts) for spec in specs)
        return MeasuredPool(name, first[1], (first[0], second[0]))
    if name == "words":
        if gold is None:
            return None
        books = corpora.open_corpus(BOOKS.format(data=data)).documents(Tally())
        measure = partial(of_words, words=with_frequencies(read_gold(gold).words, books))
    elif name == "FLORES":
        measure = partial(of_rows, corpus=aligned(data))
    else:
        sort, _, source = name.rpartition(", ")
        of = {"noise": of_noise, "kinds": of_kinds, "": of_documents}[sort]
        measure = partial(of, texts=documents_of(source, data))
    first, second = (measure(tokenizers.load(spec)) for spec in specs)
    return MeasuredPool(name, first[1], (first[0], second[0]))


def covered(given: argparse.Namespace) -> Iterator[CoverageLine]:
    """Yield the lines of all pools."""
    for name in given.pools:
        if (pool := pool_of(name, given.gold, given.data)) is not None:
            lines = list(lines_of(f"{name}: {given.size} of {pool.items:,}", simulate(pool, given.size, given.draws)))
            sys.stderr.write(f"{name}: {sum(line.holds for line in lines)} of {len(lines)} numbers hold\n")
            yield from lines


def main(arguments: Sequence[str] | None = None, emit: Callable[[str], object] = sys.stdout.write) -> int:
    """Simulate all pools, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--size", type=int, default=400, help="words, documents or rows of a draw")
    parser.add_argument("--gold", help="file of gold words; without it, morphology is left out")
    parser.add_argument("--pools", nargs="+", default=POOLS, choices=POOLS)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--data", default=os.environ.get("PYHARNESS_DATA"), help="default: PYHARNESS_DATA")
    given = parser.parse_args(arguments)
    if not given.data:
        parser.error("set PYHARNESS_DATA to the folder of data, or give --data")
    lines = list(covered(given))
    outside = [line for line in lines if not line.holds]
    text = table(HEAD, [line.cells for line in lines])
    text += f"\n\n{len(lines) - len(outside)} of {len(lines)} numbers hold, in {given.draws} draws of each pool.\n"
    if given.output:
        given.output.write_text(text, encoding="utf-8")
    emit(text)
    return int(bool(outside))


if __name__ == "__main__":
    sys.exit(main())
