"""A sample of documents, chosen by the hash of their content, for counts that cannot stream in bounded memory."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pyharness.types import Digest

T = TypeVar("T")


@dataclass(slots=True)
class DocumentSample(Generic[T]):
    """The distinct documents with the smallest digests, as many as fit ``byte_cap`` bytes of text.

    The choice does not depend on the order of documents nor on the tokenizer, and merging two samples gives the sample
    of the union.
    """

    byte_cap: int
    bytes: int = 0
    _threshold: Digest | None = None  # documents from this digest on do not fit
    _kept: dict[Digest, tuple[str, T]] = field(default_factory=dict)
    _largest: list[tuple[int, Digest]] = field(default_factory=list)  # heap: largest digest first

    def wants(self, digest: Digest) -> bool:
        """Tell whether a document could still belong to the sample: ask before copying it."""
        return digest not in self._kept and (self._threshold is None or digest < self._threshold)

    def add(self, digest: Digest, text: str, known: T) -> None:
        """Offer one document, with its payload ``known``."""
        if not self.wants(digest):
            return
        self._kept[digest] = (text, known)
        self.bytes += len(text.encode())
        heapq.heappush(self._largest, (-int.from_bytes(digest, "big"), digest))
        while self.bytes > self.byte_cap:
            self._threshold = self._drop_largest()

    def merge(self, other: DocumentSample[T]) -> None:
        """Merge the sample of another pass."""
        if other._threshold is not None and (self._threshold is None or other._threshold < self._threshold):
            self._trim(other._threshold)
        for digest, (text, value) in other._kept.items():
            self.add(digest, text, value)

    def _trim(self, threshold: Digest) -> None:
        self._threshold = threshold
        while self._largest and self._largest[0][1] >= threshold:
            self._drop_largest()

    def _drop_largest(self) -> Digest:
        _, gone = heapq.heappop(self._largest)
        self.bytes -= len(self._kept.pop(gone)[0].encode())
        return gone

    @property
    def is_too_small(self) -> bool:
        """Whether no document fitted, although there were some."""
        return not self._kept and self._threshold is not None

    def documents(self) -> list[tuple[str, T]]:
        """Return the documents of the sample with their payloads, in the order of their digests."""
        return [self._kept[digest] for digest in sorted(self._kept)]
