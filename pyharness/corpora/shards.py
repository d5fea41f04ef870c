"""Some of every ``COUNT`` documents of another corpus: ``shard:INDEX/COUNT:SPEC``, ``shard:FIRST-LAST/COUNT:SPEC``.

Shards distribute a corpus over workers, and separate training text from held-out text. Documents are assigned whole:
the pieces of a cut document, and the texts of an aligned row, stay together. Where a corpus names the work of a
document (``path:...?work=FIELD``), works are assigned whole, too, by the hash of their names. So no two shards contain
parts of one text, and a work is on the same side in every corpus that names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyharness.corpora import open_corpus
from pyharness.corpora.streaming import DerivedCorpus, keyed
from pyharness.types import Corpus, CorpusFamily, InputError, Piece, Tally, digest_of


@dataclass(slots=True)
class Shard(DerivedCorpus):
    """Documents of ``whole`` whose number, or whose work's hash, modulo ``count`` is in ``wanted``.

    It may be empty, unlike other corpora.
    """

    wanted: range
    count: int

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream this shard's documents; merging the tallies of all shards gives the tally of the whole."""
        # Every shard meets all omissions, cuts and replacements; the one with the first documents reports them.
        met = tally if 0 in self.wanted else Tally()
        number = -1
        for piece in keyed(self.whole, met):
            number += piece.opens
            at = int.from_bytes(digest_of(piece.work), "little") if piece.work else number
            if at % self.count in self.wanted:
                yield piece


def shard(corpus: Corpus, index: int, count: int, last: int | None = None) -> Corpus:
    """Return shard ``index`` of ``count``, or shards ``index`` to ``last``; raise ``InputError`` for unknown ones."""
    wanted = range(index, (index if last is None else last) + 1)
    if not (wanted and index >= 0 and wanted[-1] < count):
        between = "" if last is None else f" to {last}"
        raise InputError(f"there is no shard {index}{between} of {count}; shards are 0 to {count - 1}")
    indices = f"{index}" if last is None else f"{index}-{last}"
    return Shard(corpus, f"shard:{indices}/{count}:{corpus.name}", wanted, count)


def _open(spec: str, argument: str, options: Mapping[str, str]) -> Corpus:  # noqa: ARG001 - the inner one gets them
    match = re.fullmatch(r"shard:(\d{1,9})(?:-(\d{1,9}))?/(\d{1,9}):(.+)", spec, re.DOTALL | re.ASCII)
    if match is None:
        raise InputError(
            f"cannot read {spec!r}; write shard:INDEX/COUNT:CORPUS, like 'shard:0/4:sample', or 'shard:1-3/4:sample'"
        )
    return shard(open_corpus(match[4]), int(match[1]), int(match[3]), int(match[2]) if match[2] else None)


CORPORA = (
    CorpusFamily(
        name="shard",
        place=6,
        open=_open,
        summary="one or several of COUNT parts of another corpus: whole documents, and whole works if it names them",
        example="shard:1-3/4:sample",
        wraps=True,
    ),
)
