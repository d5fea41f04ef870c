"""A sample of documents, chosen by the hash of their content, for counts that cannot stream in bounded memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
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
    _bytes: int = 0  # at most this many are kept
    _threshold: Digest | None = None  # documents from this digest on do not fit
    _kept: dict[Digest, tuple[int, T]] = field(default_factory=dict)  # with the bytes of their text

    def wants(self, digest: Digest) -> bool:
        """Tell whether a document could still belong to the sample: ask before copying it."""
        return digest not in self._kept and (self._threshold is None or digest < self._threshold)

    def wanted(self, digests: NDArray[np.uint8]) -> dict[Digest, int]:
        """Return the documents that it wants, of digests uint8 [documents, 16], each with its first place."""
        places = np.arange(len(digests))
        if self._threshold is not None:
            heads = np.ascontiguousarray(digests[:, :8]).view(">u8")[:, 0]
            places = np.flatnonzero(heads <= int.from_bytes(self._threshold[:8], "big"))
        by_digest = zip(_rows(digests[places])[::-1], places[::-1].tolist(), strict=True)
        return {digest: place for digest, place in by_digest if self.wants(digest)}

    def add(self, digest: Digest, size: int, known: T) -> None:
        """Offer one document of ``size`` bytes of UTF-8, with its payload ``known``."""
        if not self.wants(digest):
            return
        self._kept[digest] = (size, known)
        self._bytes += size
        if self._bytes > self.byte_cap + self.byte_cap // 4:  # seldom: each time all digests are sorted
            self._fit()

    def merge(self, other: DocumentSample[T]) -> None:
        """Merge the sample of another pass."""
        if other._threshold is not None and (self._threshold is None or other._threshold < self._threshold):
            self._threshold = other._threshold
            self._kept = {digest: entry for digest, entry in self._kept.items() if digest < other._threshold}
        for digest, (size, value) in other._kept.items():
            self.add(digest, size, value)

    def _fit(self) -> dict[Digest, tuple[int, T]]:
        """Sort the documents by digest, drop them from the first on that does not fit, and return the others."""
        digests = sorted(self._kept)
        ends = list(accumulate([self._kept[digest][0] for digest in digests]))
        if (fitting := bisect_right(ends, self.byte_cap)) < len(digests):
            self._threshold = digests[fitting]
        self._kept = {digest: self._kept[digest] for digest in digests[:fitting]}
        self._bytes = ends[fitting - 1] if fitting else 0
        return self._kept

    @property
    def bytes(self) -> int:
        """Bytes of the documents of the sample."""
        self._fit()
        return self._bytes

    @property
    def is_too_small(self) -> bool:
        """Whether no document fitted, although there were some."""
        return not self._fit() and self._threshold is not None

    def documents(self) -> list[T]:
        """Return the payloads of the documents of the sample, in the order of their digests."""
        return [payload for _, payload in self._fit().values()]

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return what ``restore`` needs besides the payloads: digests and sizes of the documents, and the threshold."""
        kept = self._fit()
        return {
            f"{name} digests": np.frombuffer(b"".join(kept), np.uint8).reshape(-1, DIGEST_BYTES),
            f"{name} sizes": compact(np.array([size for size, _ in kept.values()], np.int64)),
            f"{name} threshold": np.frombuffer(self._threshold or b"", np.uint8).reshape(-1, DIGEST_BYTES),
        }

    def restore(self, name: str, arrays: State, payloads: Sequence[T]) -> None:
        """Fill an empty sample from its arrays, with payloads in the order of ``documents``.

        Raises:
            InputError: the arrays contradict each other, or are more than the sample may hold.
        """
        digests, thresholds = (_rows(table(arrays, f"{name} {key}", DIGEST_BYTES)) for key in ("digests", "threshold"))
        sizes = taken(arrays, f"{name} sizes", len(digests)).tolist()
        ordered = all(a < b for a, b in zip(digests, [*digests[1:], *thresholds[:1]], strict=False))
        if len(payloads) != len(digests) or len(thresholds) > 1 or not ordered or min(sizes, default=0) < 0:
            raise InputError(f"the documents of {name!r} are not those of a sample")
        if (total := sum(sizes)) > self.byte_cap:
            raise InputError(f"the documents of {name!r} have more than {self.byte_cap:,} bytes")
        self._kept, self._bytes = dict(zip(digests, zip(sizes, payloads, strict=True), strict=True)), total
        self._threshold = thresholds[0] if thresholds else None


def _rows(digests: NDArray[Any]) -> list[Digest]:
    data = digests.astype(np.uint8).tobytes()
    return [data[start : start + DIGEST_BYTES] for start in range(0, len(data), DIGEST_BYTES)]
