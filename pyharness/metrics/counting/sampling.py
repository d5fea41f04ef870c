"""A sample of documents, chosen by the hash of their content, for counts that cannot stream in bounded memory."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyharness.metrics.counting.state_arrays import compact, table, taken
from pyharness.types import Digest, InputError, State

T = TypeVar("T")
DIGEST_BYTES = 16


@dataclass(slots=True)
class DocumentSample(Generic[T]):
    """The distinct documents with the smallest digests, as many as fit ``byte_cap`` bytes of text.

    The choice does not depend on the order of documents nor on the tokenizer, and merging two samples gives the sample
    of the union.
    """

    byte_cap: int
    bytes: int = 0
    _threshold: Digest | None = None  # documents from this digest on do not fit
    _kept: dict[Digest, tuple[int, T]] = field(default_factory=dict)  # with the bytes of their text
    _largest: list[tuple[int, Digest]] = field(default_factory=list)  # heap: largest digest first

    def wants(self, digest: Digest) -> bool:
        """Tell whether a document could still belong to the sample: ask before copying it."""
        return digest not in self._kept and (self._threshold is None or digest < self._threshold)

    def candidates(self, digests: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the places of the documents that it may want, of digests uint8 [documents, 16]: all, or a few more."""
        if self._threshold is None:
            return np.arange(len(digests))
        heads = np.ascontiguousarray(digests[:, :8]).view(">u8")[:, 0]
        return np.flatnonzero(heads <= int.from_bytes(self._threshold[:8], "big"))

    def add(self, digest: Digest, size: int, known: T) -> None:
        """Offer one document of ``size`` bytes of UTF-8, with its payload ``known``."""
        if not self.wants(digest):
            return
        self._kept[digest] = (size, known)
        self.bytes += size
        heapq.heappush(self._largest, (-int.from_bytes(digest, "big"), digest))
        while self.bytes > self.byte_cap:
            self._threshold = self._drop_largest()

    def merge(self, other: DocumentSample[T]) -> None:
        """Merge the sample of another pass."""
        if other._threshold is not None and (self._threshold is None or other._threshold < self._threshold):
            self._trim(other._threshold)
        for digest, (size, value) in other._kept.items():
            self.add(digest, size, value)

    def _trim(self, threshold: Digest) -> None:
        self._threshold = threshold
        while self._largest and self._largest[0][1] >= threshold:
            self._drop_largest()

    def _drop_largest(self) -> Digest:
        _, gone = heapq.heappop(self._largest)
        self.bytes -= self._kept.pop(gone)[0]
        return gone

    @property
    def is_too_small(self) -> bool:
        """Whether no document fitted, although there were some."""
        return not self._kept and self._threshold is not None

    def documents(self) -> list[T]:
        """Return the payloads of the documents of the sample, in the order of their digests."""
        return [self._kept[digest][1] for digest in sorted(self._kept)]

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return what ``restore`` needs besides the payloads: digests and sizes of the documents, and the threshold."""
        digests = sorted(self._kept)
        return {
            f"{name} digests": np.frombuffer(b"".join(digests), np.uint8).reshape(-1, DIGEST_BYTES),
            f"{name} sizes": compact(np.array([self._kept[digest][0] for digest in digests], np.int64)),
            f"{name} threshold": np.frombuffer(self._threshold or b"", np.uint8).reshape(-1, DIGEST_BYTES),
        }

    def restore(self, name: str, arrays: State, payloads: Sequence[T]) -> None:
        """Fill an empty sample from its arrays, with payloads in the order of ``documents``.

        Raises:
            InputError: the arrays contradict each other, or are more than the sample may hold.
        """
        digests, thresholds = (_digests(arrays, f"{name} {what}") for what in ("digests", "threshold"))
        sizes = taken(arrays, f"{name} sizes", len(digests)).tolist()
        ordered = all(a < b for a, b in zip(digests, [*digests[1:], *thresholds[:1]], strict=False))
        if len(payloads) != len(digests) or len(thresholds) > 1 or not ordered or min(sizes, default=0) < 0:
            raise InputError(f"the documents of {name!r} are not those of a sample")
        if (total := sum(sizes)) > self.byte_cap:
            raise InputError(f"the documents of {name!r} have more than {self.byte_cap:,} bytes")
        self._kept, self.bytes = dict(zip(digests, zip(sizes, payloads, strict=True), strict=True)), total
        self._largest = [(-int.from_bytes(digest, "big"), digest) for digest in reversed(digests)]  # sorted: a heap
        self._threshold = thresholds[0] if thresholds else None


def _digests(arrays: State, name: str) -> list[Digest]:
    data = table(arrays, name, DIGEST_BYTES).astype(np.uint8).tobytes()
    return [data[start : start + DIGEST_BYTES] for start in range(0, len(data), DIGEST_BYTES)]
