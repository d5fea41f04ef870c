"""Reading corpora that can be read and that cannot, and writing files, for the tests of corpora."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyharness.corpora import open_corpus
from pyharness.types import Corpus, InputError, ParallelCorpus, Tally


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


def refusal(spec: str) -> str:
    """Why a specification is refused before any text is read."""
    with pytest.raises(InputError) as caught:
        open_corpus(spec)
    return str(caught.value)


def failure(spec: str) -> str:
    """Why reading stops, for a corpus that opens."""
    corpus = open_corpus(spec)
    with pytest.raises(InputError) as caught:
        list(corpus.documents(Tally()))
    return str(caught.value)


def has(message: str, *parts: str) -> None:
    assert all(part in message for part in parts), message
