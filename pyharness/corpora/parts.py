"""A share of the files of another corpus: ``part:INDEX/COUNT:SPEC``, which reads hardly more than its share.

The files of a corpus such as ``path:`` are laid end to end, in their order, and cut into ``COUNT`` equal ranges of
bytes. **A document belongs to the part in which its first byte lies.** A line of plain JSON Lines goes whole to where
it begins, a row group of Parquet to where its first page is. Anything compressed, and plain text, goes whole to where
its file begins, and a pass of ``repeat:`` to where it begins. So the parts, in their order, are the documents of the
whole, and nothing needs to know of the others. A part may be empty.

``shard:`` deals documents out one by one and reads all text for each shard; it is right for halves of one text.

``repeat:N:SPEC`` reads another corpus N times, for load tests that need more text than exists. The passes are the same
to the last byte: code that remembers text looks faster on the second, so throughput must not be measured here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pyharness.corpora import open_corpus
from pyharness.corpora.files.reading import CorpusFile, Extent, FileState, state_of
from pyharness.corpora.files.splitting import Cut, pieces, unrolled
from pyharness.corpora.path import FileCorpus
from pyharness.corpora.streaming import DerivedCorpus, admitted, keyed
from pyharness.kernels.text import TextRun
from pyharness.types import Corpus, CorpusFamily, InputError, Piece, Tally

MOST_PARTS = 10**6
MOST_PASSES = 10**9


@dataclass(slots=True)
class RepeatedCorpus(DerivedCorpus):
    """Passes over ``whole``, as plain documents even if it is aligned."""

    passes: range  # their numbers, from 0

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream the passes; each counts what it leaves out, cuts or replaces, and only the first is evidence."""
        for number in self.passes:
            for piece in keyed(self.whole, tally):
                yield piece._replace(again=True) if number else piece


@dataclass(frozen=True, slots=True)
class FileListing:
    """The files of a corpus as they are at one moment: names, and states (sizes in bytes, and times or etags)."""

    files: tuple[CorpusFile, ...]
    states: tuple[FileState, ...]
    passes: int = 1

    @classmethod
    def of(cls, corpus: FileCorpus | RepeatedCorpus) -> FileListing:
        """List the files of a corpus, in their order; raise ``InputError`` for one that cannot be looked at."""
        passes = 1
        while isinstance(corpus, RepeatedCorpus):
            passes, corpus = passes * len(corpus.passes), whole_of(corpus.whole)
        files = tuple(corpus.files())
        return cls(files, tuple(map(state_of, files)), passes)

    @property
    def size(self) -> int:
        """Bytes of all files, in all passes."""
        return self.passes * sum(size for size, _ in self.states)

    @property
    def digest(self) -> str:
        """SHA-256 of the listing: parts of two listings are not parts of one text."""
        digest = hashlib.sha256()
        for file, (size, version) in zip(self.files, self.states, strict=True):
            digest.update(f"{len(str(file))} {file} {size} {version}\n".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def passes_of(self, index: int, count: int, passes: int) -> range:
        """Return which of ``passes`` over all files begin in a part; those over empty files are of the last."""
        if not (once := self.size // passes):
            return range(passes if index == count - 1 else 0)
        return range(*(-(-(self.size * one // count) // once) for one in (index, index + 1)))

    def part(self, index: int, count: int) -> Iterator[Extent]:
        """Yield what part ``index`` of ``count`` has of each file that begins or goes on in it."""
        whole = self.size
        start, stop = (whole * one // count for one in (index, index + 1))
        at = 0
        for file, (size, _) in zip(self.files, self.states, strict=True):
            first, end = max(start - at, 0), min(stop - at, size)
            # An empty file is a document without a byte; behind the last byte of all, it is of the last part.
            empty = not size and (start <= at < stop or (at == whole and index == count - 1))
            if first < end or empty:
                yield Extent(file, first, end)
            at += size


@dataclass(slots=True)
class PartCorpus(DerivedCorpus):
    """One part of the files of ``whole``, or of the passes over them. It may be empty, unlike other corpora."""

    whole: FileCorpus | RepeatedCorpus
    index: int
    count: int

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream the documents that begin in this part, with the keys they have in the whole."""
        listing, whole = FileListing.of(self.whole), self.whole
        if isinstance(whole, RepeatedCorpus):
            passes = listing.passes_of(self.index, self.count, len(whole.passes))
            return replace(whole, passes=passes).keyed_documents(tally)
        return admitted(unrolled(self._cuts(listing, whole)), None, tally)

    def text_runs(self, tally: Tally) -> Iterator[Piece | TextRun]:
        """Stream the documents of ``keyed_documents`` in runs, which the tally counts as a whole: read all of them."""
        if isinstance(self.whole, RepeatedCorpus):
            return self.keyed_documents(tally)
        return admitted(self._cuts(FileListing.of(self.whole), self.whole), None, tally)

    def _cuts(self, listing: FileListing, whole: FileCorpus) -> Iterator[Cut | TextRun]:
        return pieces(whole.fragments(listing.part(self.index, self.count)), whole.max_document_bytes)


def whole_of(corpus: Corpus) -> FileCorpus | RepeatedCorpus:
    """Return a corpus that can be read in parts; raise ``InputError`` for any other, with what to do instead."""
    if isinstance(corpus, RepeatedCorpus):
        whole_of(corpus.whole)
        return corpus
    if not isinstance(corpus, FileCorpus):
        raise InputError(
            f"corpus {corpus.name!r} cannot be read in parts: only files of plain text, JSON Lines and Parquet can; "
            "write its text to a file for 'path:', or leave parts out"
        )
    if corpus.max_bytes is not None:
        raise InputError(f"corpus {corpus.name!r} cannot be read in parts with max_bytes=: leave max_bytes out")
    return corpus


def part_name(name: str, index: int, count: int) -> str:
    """Return the specification of a part of a corpus."""
    return f"part:{index}/{count}:{name}"


def _open(spec: str, argument: str, options: Mapping[str, str]) -> Corpus:  # noqa: ARG001 - the inner one gets them
    match = re.fullmatch(r"part:(\d{1,7})/(\d{1,7}):(.+)", spec, re.DOTALL | re.ASCII)
    if match is None or not 0 <= int(match[1]) < int(match[2]) <= MOST_PARTS:
        raise InputError(
            f"cannot read {spec!r}; write part:INDEX/COUNT:CORPUS with INDEX from 0 to COUNT - 1 and at most "
            f"{MOST_PARTS:,} parts, like 'part:0/20:path:texts/'"
        )
    return PartCorpus(whole_of(open_corpus(match[3])), spec, int(match[1]), int(match[2]))


def _open_repeated(spec: str, argument: str, options: Mapping[str, str]) -> Corpus:  # noqa: ARG001 - the inner one gets them
    match = re.fullmatch(r"repeat:(\d{1,10}):(.+)", spec, re.DOTALL | re.ASCII)
    if match is None or not 1 <= int(match[1]) <= MOST_PASSES:
        raise InputError(f"cannot read {spec!r}; write repeat:N:CORPUS with N from 1 to 10^9, like 'repeat:10:sample'")
    return RepeatedCorpus(open_corpus(match[2]), spec, range(int(match[1])))


CORPORA = (
    CorpusFamily(
        name="part",
        place=6,
        open=_open,
        summary="one of N shares of files, which reads its share alone (options are those of path:)",
        example="part:0/20:path:texts/",
        wraps=True,
    ),
    CorpusFamily(
        name="repeat",
        place=5,
        open=_open_repeated,
        summary="N identical passes over another corpus (options are those of that corpus)",
        example="repeat:10:sample",
        wraps=True,
    ),
)
