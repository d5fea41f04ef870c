"""Rules that all corpora share: empty documents, invalid text, limits, counts, and corpora without text.

``read_batches`` groups the documents of a corpus, and ``batches`` anything else: rows, words, parts of documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from pyharness.corpora.files.splitting import UNCUT, Cut, Fragment, R, pieces, unrolled
from pyharness.kernels.text import ReadTexts, TextRun, utf8_size
from pyharness.types import Corpus, Digest, HasKeys, InputError, Piece, Tally, counted

T = TypeVar("T")

_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class StreamedCorpus(Generic[T]):
    """Documents made of ``read``, a stream that can be restarted; a subclass has ``keyed_documents``."""

    name: str
    read: Callable[[], Iterable[T]]
    language: str
    domain: str
    licence: str
    label: str  # its name in reports
    max_bytes: int | None
    smoke_test: bool = field(default=False, kw_only=True)

    def documents(self, tally: Tally) -> Iterator[str]:
        """Stream the documents of ``keyed_documents``."""
        return (piece.text for piece in keyed(self, tally))


@dataclass(slots=True)
class TextCorpus(StreamedCorpus[Fragment | TextRun]):
    """Text: documents of at most ``max_document_bytes``."""

    max_document_bytes: int

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream non-empty documents; the pieces of a cut one share its beginning as their key."""
        documents = unrolled(pieces(self.read(), self.max_document_bytes))
        return never_empty(self.name, admitted(documents, self.max_bytes, tally), tally)

    def text_runs(self, tally: Tally) -> Iterator[Piece | TextRun]:
        """Stream the documents of ``keyed_documents`` in runs, which the tally counts as a whole: read all of them."""
        documents = admitted(pieces(self.read(), self.max_document_bytes), self.max_bytes, tally)
        return never_empty(self.name, documents, tally)


@dataclass(slots=True)
class DerivedCorpus:
    """Documents of another corpus, ``whole``, with its facts and its kind, but for alignment."""

    whole: Corpus
    name: str
    language: str = field(init=False)
    domain: str = field(init=False)
    licence: str = field(init=False)
    smoke_test: bool = field(init=False)
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        """Take the facts over."""
        for fact in ("language", "domain", "licence", "smoke_test"):
            setattr(self, fact, getattr(self.whole, fact))
        self.kind = getattr(self.whole, "kind", "text")

    def documents(self, tally: Tally) -> Iterator[str]:
        """Stream the documents of ``keyed_documents``."""
        return (piece.text for piece in keyed(self, tally))


def admitted(documents: Iterable[Cut | R], max_bytes: int | None, tally: Tally) -> Iterator[Piece | R]:
    """Pass documents on up to ``max_bytes``; count the empty, cut and replaced among them."""
    total, key = 0, ""
    for document in documents:
        if isinstance(document, TextRun):
            run, too_large = (document, None) if max_bytes is None else document.within(min(max_bytes - total, UNCUT))
            size, empty, cut = run.sums()
            total += size
            tally.empty_documents += empty
            tally.cut_documents += cut
            if size:
                yield run
            if too_large is not None and not fits(total + too_large, too_large, max_bytes):
                return
            continue
        text, beginning, opens, parted, work = document
        if not text:
            tally.empty_documents += 1
            continue
        clean, replaced, size = settled(text)
        total += size
        if not fits(total, size, max_bytes):
            return
        tally.cut_documents += parted
        tally.replaced_sequences += replaced
        if opens:
            key = clean if beginning == text else settled(beginning)[0]
        yield Piece(clean, key, opens, work=settled(work)[0])


def fits(total: int, last: int, max_bytes: int | None) -> bool:
    """Return whether ``total`` bytes are within the cap; raise ``InputError`` if not even the first document fits."""
    if max_bytes is None or total <= max_bytes:
        return True
    if total == last:
        raise InputError(
            f"max_bytes={max_bytes} leaves no room for the first document ({last} bytes); "
            "give more, or cut documents with max_document_bytes= where the corpus has it"
        )
    return False


def settled(text: str) -> tuple[str, int, int]:
    """Replace every surrogate (the mark of invalid UTF-8, or half a JSON escape) by U+FFFD.

    Returns the text, the number of replacements, and the text's size in UTF-8.
    """
    if (size := utf8_size(text)) is not None:
        return text, 0, size
    clean, replaced = _SURROGATES.subn("\ufffd", text)
    return clean, replaced, len(clean.encode())


def keyed(corpus: Corpus, tally: Tally) -> Iterator[Piece]:
    """Stream texts with the key of their group: their own text, unless the corpus gives another key."""
    if isinstance(corpus, HasKeys):
        return (_piece(corpus.name, item) for item in corpus.keyed_documents(tally))
    return (Piece(text, text) for text in corpus.documents(tally))


def _piece(corpus: str, item: object) -> Piece:
    """Check the text and key of a corpus, which may be a plug-in's."""
    if isinstance(item, tuple) and 2 <= len(item) <= 5 and all(isinstance(one, str) for one in (*item[:2], *item[4:])):
        return Piece(*item)
    raise InputError(
        f"corpus {corpus!r}: keyed_documents yields {type(item).__name__}; it must yield pyharness.types.Piece, "
        "or pairs of text and key"
    )


class Read(NamedTuple):
    """A text that the tally has counted."""

    text: str
    digest: Digest  # of the text
    key: Digest  # of its document, or of its work where the corpus names it: decides the group of the jackknife
    opens: bool  # whether it is the first text of a document that was not read before


def read(corpus: Corpus, tally: Tally) -> Iterator[Read]:
    """Stream a corpus and count it, with the digests that decide sample and group."""
    for texts in read_batches(corpus, tally):
        digests, keys = (map(bytes, some) for some in texts.digests())
        columns = (texts, digests, keys, texts.opens().tolist())
        for one, size in zip(map(Read, *columns), texts.sizes().tolist(), strict=True):
            tally.count(one.digest, size)
            yield one


def read_batches(corpus: Corpus, tally: Tally) -> Iterator[ReadTexts]:
    """Stream a corpus in batches of ``BATCH_SIZE`` characters, with the keys of ``read``; the consumer counts them."""
    tally.beginnings = []
    runs = _runs_of(corpus)
    texts = ReadTexts()
    for item in keyed(corpus, tally) if runs is None else runs(tally):
        if isinstance(item, TextRun):
            at = 0
            while (at := texts.take(item, at, BATCH_SIZE, work_key(""))) < len(item):
                yield texts
                texts = ReadTexts()
        else:
            texts.add(item.text, work_key(item.work) if item.work else item.key, item.opens and not item.again)
        if texts.characters >= BATCH_SIZE:
            yield texts
            texts = ReadTexts()
    if len(texts):
        yield texts


def _runs_of(corpus: Corpus) -> Callable[[Tally], Iterator[Piece | TextRun]] | None:
    """Return how to read a corpus in runs; None if it cannot, or if a subclass has documents of its own."""
    for one in type(corpus).__mro__:
        if {"text_runs", "keyed_documents"} & vars(one).keys():
            return getattr(corpus, "text_runs") if "text_runs" in vars(one) else None  # noqa: B009
    return None


def work_key(work: str) -> str:
    """Return the key that decides the group of a work, because its documents are not independent evidence.

    The name alone would not do: shards assign works by its hash, so the works of one of two shards would fall
    into half of the groups.
    """
    return f"work {work}"


def never_empty(name: str, items: Iterable[T], tally: Tally) -> Iterator[T]:
    """Pass ``items`` on; raise ``InputError`` for a corpus without any, instead of a row of zeros."""
    any_item = False
    for item in items:
        any_item = True
        yield item
    if not any_item:
        left_out = f" (left out: {counted(tally.empty_documents, 'empty document')})" if tally.empty_documents else ""
        raise InputError(f"corpus {name!r} has no documents{left_out}; check what it points to and its options")


BATCH_SIZE = 1 << 20  # characters of text, by default


def batches(
    items: Iterable[T], *, size: int | None = None, count: int | None = None, size_of: Callable[[T], int] | None = None
) -> Iterator[list[T]]:
    """Group items in their order; a batch ends with the item that reaches a bound, the last one with the last item.

    Args:
        items: documents, texts or rows; none is taken beyond the current batch.
        size: a batch ends when the sizes of its items add up to this much.
        count: a batch ends when it has this many items.
        size_of: size of an item, called once each; by default its length.

    >>> list(batches(["aa", "b", "cc", "d"], size=3))
    [['aa', 'b'], ['cc', 'd']]
    >>> list(batches("abcde", count=2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    measure: Callable[[Any], int] = size_of or len
    batch, held = list[T](), 0
    for item in items:
        batch.append(item)
        if size is not None:
            held += measure(item)
        if len(batch) == count or (size is not None and held >= size):
            yield batch
            batch, held = [], 0
    if batch:
        yield batch
