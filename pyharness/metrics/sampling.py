"""What cannot stream in bounded memory is measured on a sample of documents, chosen by the hash of their content."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np

from pyharness.types import Ids, Tokens


@dataclass(slots=True)
class DocumentSample:
    """The distinct documents with the smallest digests, as many as fit ``token_cap``.

    The choice does not depend on the order of documents, and merging two samples gives the sample of the union.
    """

    token_cap: int
    tokens: int = 0
    _threshold: bytes | None = None  # documents from this digest on do not fit
    _kept: dict[bytes, tuple[str, Ids]] = field(default_factory=dict)
    _largest: list[tuple[int, bytes]] = field(default_factory=list)  # heap: largest digest first

    def wants(self, digest: bytes) -> bool:
        """Tell whether a document could still belong to the sample: ask before copying it."""
        return digest not in self._kept and (self._threshold is None or digest < self._threshold)

    def add(self, digest: bytes, text: str, ids: Ids) -> None:
        """Offer one document."""
        if not self.wants(digest):
            return
        self._kept[digest] = (text, np.array(ids))
        self.tokens += len(ids)
        heapq.heappush(self._largest, (-int.from_bytes(digest, "big"), digest))
        while self.tokens > self.token_cap:
            _, gone = heapq.heappop(self._largest)
            self.tokens -= len(self._kept.pop(gone)[1])
            self._threshold = gone

    def merge(self, other: DocumentSample) -> None:
        """Take in the sample of another pass."""
        if other._threshold is not None and (self._threshold is None or other._threshold < self._threshold):
            self._trim(other._threshold)
        for digest, (text, ids) in other._kept.items():
            self.add(digest, text, ids)

    def _trim(self, threshold: bytes) -> None:
        self._threshold = threshold
        while self._largest and self._largest[0][1] >= threshold:
            _, gone = heapq.heappop(self._largest)
            self.tokens -= len(self._kept.pop(gone)[1])

    def texts(self) -> list[str]:
        """Texts of the sample, in the order of their digests."""
        return [self._kept[digest][0] for digest in sorted(self._kept)]

    def laid_out(self) -> Tokens:
        """Tokens of the sample, documents in the order of their digests."""
        return Tokens.from_lists([self._kept[digest][1] for digest in sorted(self._kept)])
