"""A sample of documents, chosen by the hash of their content, for counts that cannot stream in bounded memory."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np

from pyharness.types import Digest, Ids, Tokens


@dataclass(slots=True)
class DocumentSample:
    """The distinct documents with the smallest digests, as many as fit ``byte_cap`` bytes of text.

    The choice does not depend on the order of documents nor on the tokenizer, and merging two samples gives the sample
    of the union.
    """

    byte_cap: int
    bytes: int = 0
    _threshold: Digest | None = None  # documents from this digest on do not fit
    _kept: dict[Digest, tuple[str, Ids]] = field(default_factory=dict)
    _largest: list[tuple[int, Digest]] = field(default_factory=list)  # heap: largest digest first

    def wants(self, digest: Digest) -> bool:
        """Tell whether a document could still belong to the sample: ask before copying it."""
        return digest not in self._kept and (self._threshold is None or digest < self._threshold)

    def add(self, digest: Digest, text: str, ids: Ids) -> None:
        """Offer one document."""
        if not self.wants(digest):
            return
        self._kept[digest] = (text, np.array(ids))
        self.bytes += len(text.encode())
        heapq.heappush(self._largest, (-int.from_bytes(digest, "big"), digest))
        while self.bytes > self.byte_cap:
            self._threshold = self._drop_largest()

    def merge(self, other: DocumentSample) -> None:
        """Take in the sample of another pass."""
        if other._threshold is not None and (self._threshold is None or other._threshold < self._threshold):
            self._trim(other._threshold)
        for digest, (text, ids) in other._kept.items():
            self.add(digest, text, ids)

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
        """Whether there were documents, and not one fitted."""
        return not self._kept and self._threshold is not None

    def documents(self) -> list[tuple[str, Ids]]:
        """Documents of the sample with their ids, in the order of their digests."""
        return [self._kept[digest] for digest in sorted(self._kept)]

    def laid_out(self) -> Tokens:
        """Tokens of the sample, documents in the order of their digests."""
        return Tokens.from_lists([self._kept[digest][1] for digest in sorted(self._kept)])
