"""Reading corpora and writing files, for the tests of corpora."""

from __future__ import annotations

from pathlib import Path

from pyharness.corpora import open_corpus
from pyharness.types import Corpus, ParallelCorpus, Tally


def read(spec: str) -> tuple[list[str], Tally]:
    return documents(open_corpus(spec))


def documents(corpus: Corpus) -> tuple[list[str], Tally]:
    tally = Tally()
    texts = list(corpus.documents(tally))
    for text in texts:
        tally.add(text)
    return texts, tally


def parallel(spec: str) -> ParallelCorpus:
    corpus = open_corpus(spec)
    assert isinstance(corpus, ParallelCorpus)
    return corpus


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path
