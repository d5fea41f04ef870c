"""Counts of every pair of ids and every id, and digests of the ids of documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.kernels.arrays import Device, describe, library_of, on_host
from pyharness.kernels.device_pairs import bad_id, count_on_device
from pyharness.plugins.registry import suggest
from pyharness.types import Ids, InputError, Offsets

Method = Literal["auto", "partition", "sort", "dense"]
METHODS = ("auto", "partition", "sort", "dense")


@dataclass(frozen=True, slots=True)
class PairHistogram:
    """Counts of pairs: ``(left[k], right[k])`` occurs ``count[k]`` times, in falling order; ties by (left, right).

    The arrays are on the tokens' device, and torch's for torch tensors. Otherwise they are NumPy's, or on CUDA cupy's.

    >>> import numpy as np
    >>> histogram = pair_histogram(np.array([7, 7, 7, 3], np.uint32))
    >>> len(histogram), list(zip(histogram.left.tolist(), histogram.right.tolist(), histogram.count.tolist()))
    (2, [(7, 7, 2), (7, 3, 1)])
    """

    left: NDArray[np.uint32]
    right: NDArray[np.uint32]
    count: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.count)


def pair_histogram(
    tokens: Any,
    offsets: Any = None,
    weights: Any = None,
    threads: int = 1,
    *,
    method: Method = "auto",
    device: str | None = None,
    stream: Any = None,
) -> PairHistogram:
    """Count adjacent pairs; ``(a, a)`` occurs twice in ``a a a``. The result is the same on every device.

    Args:
        tokens: uint32 [tokens], any value; torch and cupy arrays also int32 and int64, whose ids are checked.
        offsets: int64 [segments + 1]; no pair crosses a segment. Without it, all tokens are one segment.
        weights: int64 or uint64 [segments], the multiplicity of each segment.
        threads: native threads on the CPU.
        method: on CUDA ``partition`` (the choice of ``auto``), ``sort`` (slower, an independent reference) or ``dense``
            (one counter per pair of ids below 2,048). The CPU has one method, ``auto``.
        device: ``cpu``, ``cuda`` or ``cuda:1``; the tokens' device by default. NumPy tokens go to a CUDA device in
            chunks, so that a corpus may be larger than its memory; CUDA tokens stay on theirs, and other libraries'
            host arrays are refused. ``emulated`` runs the kernels on the host: for tests, and slowly.
        stream: CUDA stream (handle, torch's or cupy's), the library's current one by default. The call waits for it.

    Raises:
        InputError: an array, method, device or stream does not fit.
        ValueError: tokens, offsets, weights or threads do not fit, an id or a weight is negative or too large, or the
            weighted number of pairs leaves 64 bits.
        TypeError: an array has another dtype.
        MemoryError: the device has too little, even for parts of the tokens; the message says how much was needed.
        CudaUnavailable: there is no usable CUDA device, or this build has no kernels for one.
        Unsupported: cupy is needed and not installed, or this build has no emulator.

    Source: docs/gpu.md "Pair histogram"; docs/metrics.md "Distribution" (``bigram_entropy``). The same counts
    start BPE training.

    >>> import numpy as np
    >>> tokens, offsets = np.array([1, 2, 1, 2], np.uint32), np.array([0, 2, 4])
    >>> histogram = pair_histogram(tokens, offsets, weights=np.array([5, 1]))
    >>> histogram.left.tolist(), histogram.right.tolist(), histogram.count.tolist()
    ([1], [2], [6])
    """
    if method not in METHODS:
        raise suggest("method", method, METHODS)
    where = describe(tokens, "tokens").device
    if (kernels := _kernels_on(device, where)) is not None:
        return PairHistogram(*count_on_device(tokens, offsets, weights, method, kernels, stream))
    if method != "auto":
        raise InputError(f"method {method!r} is for CUDA; on the CPU leave method out, or set device='cuda'")
    if stream is not None:
        raise InputError("stream is for CUDA; these tokens are counted on the CPU: leave it out")
    offsets, weights = (
        None if array is None else on_host(array, name) for array, name in ((offsets, "offsets"), (weights, "weights"))
    )
    columns = _core.pair_histogram(_ids(tokens), offsets, weights, threads=threads)
    return PairHistogram(*map(library_of(tokens, where).own, columns))


def _kernels_on(device: str | None, where: Device) -> str | Device | None:
    """Return which kernels count: a CUDA device's, the emulated ones, or None for the CPU."""
    if device is None:
        return where if where.is_cuda else None
    if not re.fullmatch(r"cpu|cuda(:\d+)?|emulated", device):
        raise suggest("device", device, ("cpu", "cuda", "cuda:0", "emulated"))
    if not device.startswith("cuda"):
        if where.is_cuda:
            raise InputError(f"tokens are on {where}, not on the host: copy them there, or leave device out")
        return None if device == "cpu" else device
    _, _, number = device.partition(":")
    if where.is_cuda and number and int(number) != where.number:
        raise InputError(f"tokens are on {where}, not on {device}: copy them there, or leave device out")
    return where if where.is_cuda else Device(is_cuda=True, number=int(number or 0))


def _ids(tokens: Any) -> NDArray[Any]:
    ids = on_host(tokens, "tokens")
    # The core refuses NumPy arrays of other dtypes, which are easily converted to uint32.
    if isinstance(tokens, np.ndarray) or ids.dtype not in (np.int32, np.int64):
        return ids
    if (bad := np.flatnonzero((ids < 0) | (ids > 0xFFFFFFFF))).size:
        raise bad_id(int(bad[0]), int(ids[bad[0]]))
    return ids.astype(np.uint32)


def token_frequency(ids: Ids, offsets: Offsets, groups: NDArray[np.uint8], out: NDArray[np.uint64]) -> None:
    """Add the occurrences of every id to ``out``, in place.

    Args:
        ids: uint32 [tokens], all documents end to end.
        offsets: int64 [documents + 1].
        groups: uint8 [documents], the row of ``out`` that a document counts in.
        out: uint64 [groups, id_limit], C-contiguous.

    Raises:
        ValueError: an id is not below ``id_limit`` (the message names it), a group has no row, or offsets do not fit.
            Then nothing has been added.
        TypeError: an array has another dtype.

    >>> import numpy as np
    >>> counts = np.zeros((1, 4), np.uint64)
    >>> token_frequency(np.array([3, 1, 3], np.uint32), np.array([0, 3]), np.zeros(1, np.uint8), counts)
    >>> counts.tolist()
    [[0, 1, 0, 2]]
    """
    _core.token_frequency(ids, offsets, groups, out)


class DigestedIds(NamedTuple):
    """Result of :func:`id_digests`.

    >>> import numpy as np
    >>> found = id_digests(np.arange(65, dtype=np.uint32), np.array([0, 65]), np.array([7], np.uint64))
    >>> len(found.blocks), found.bytes  # 64 ids and one
    (2, None)
    """

    total: int  # of all documents, below 2**64; independent of their order
    blocks: NDArray[np.uint32]  # [blocks], document by document
    bytes: NDArray[np.uint32] | None  # [blocks], bytes of text of the ids of each block


def id_digests(
    ids: Ids, offsets: Offsets, keys: NDArray[np.uint64], token_bytes: NDArray[np.uint16] | None = None
) -> DigestedIds:
    """Digest every document in blocks of 64 ids (the last may be shorter), and all documents in one number.

    Args:
        ids: uint32 [tokens], all documents end to end.
        offsets: int64 [documents + 1].
        keys: uint64 [documents], of their texts.
        token_bytes: uint16 [n], bytes of every id; an id of n or more counts 0 bytes.

    Raises:
        ValueError: offsets or keys do not fit, or an array is not C-contiguous.
        TypeError: an array has another dtype.

    Source: docs/measuring.md "Two records as a gate".

    >>> import numpy as np
    >>> keys, sizes = np.array([1, 2], np.uint64), np.array([0, 3, 1], np.uint16)
    >>> one = id_digests(np.array([1, 2, 2], np.uint32), np.array([0, 2, 3]), keys, sizes)
    >>> other = id_digests(np.array([2, 1, 2], np.uint32), np.array([0, 2, 3]), keys, sizes)
    >>> one.total == other.total, (one.blocks == other.blocks).tolist(), one.bytes.tolist()
    (False, [False, True], [4, 1])
    """
    total, blocks, sizes = _core.id_digests(ids, offsets, keys, token_bytes)
    return DigestedIds(total, blocks, None if token_bytes is None else sizes)
