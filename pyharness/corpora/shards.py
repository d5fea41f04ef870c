"""Every ``COUNT``-th document of another corpus, so that workers can share it: ``shard:INDEX/COUNT:SPEC``.

Documents are dealt out whole: the pieces of one that is cut, and the texts of an aligned row, stay together. So no half
of a text holds the rest of what the other half has read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyharness.corpora import open_corpus
from pyharness.corpora.streaming import keyed
from pyharness.types import Corpus, CorpusFamily, InputError, Piece, Tally


@dataclass(slots=True)
class Shard:
    """Documents ``index``, ``index + count``, ... of ``whole``; may be empty, unlike other corpora."""

    whole: Corpus
    index: int
    count: int
    name: str
    language: str
    domain: str
    licence: str
    smoke_test: bool

    def documents(self, tally: Tally) -> Iterator[str]:
        """Stream this shard's documents; merging the tallies of all shards gives the tally of the whole."""
        return (piece.text for piece in self.keyed_documents(tally))

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream this shard's documents with the keys they have in the whole."""
        # Every shard meets everything that is left out, cut or replaced; one of them reports it.
        met = tally if self.index == 0 else Tally()
        number = -1
        for piece in keyed(self.whole, met):
            number += piece.opens
            if number % self.count == self.index:
                yield piece


def shard(corpus: Corpus, index: int, count: int) -> Corpus:
    """Return the documents, or rows of aligned text, whose running number modulo ``count`` is ``index``."""
    if not 0 <= index < count:
        raise InputError(f"there is no shard {index} of {count}; shards are 0 to {count - 1}")
    name = f"shard:{index}/{count}:{corpus.name}"
    return Shard(corpus, index, count, name, corpus.language, corpus.domain, corpus.licence, corpus.smoke_test)


def _open(spec: str, argument: str, options: Mapping[str, str]) -> Corpus:  # noqa: ARG001 - the inner one gets them
    match = re.fullmatch(r"shard:(\d{1,9})/(\d{1,9}):(.+)", spec, re.DOTALL | re.ASCII)
    if match is None:
        raise InputError(f"cannot read {spec!r}; write shard:INDEX/COUNT:CORPUS, like 'shard:0/4:sample'")
    return shard(open_corpus(match[3]), int(match[1]), int(match[2]))


CORPORA = (
    CorpusFamily(
        name="shard",
        open=_open,
        summary="every COUNT-th document of another corpus, from INDEX on",
        example="shard:0/4:sample",
        wraps=True,
    ),
)
