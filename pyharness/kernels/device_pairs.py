"""Pair histograms by the kernels: of a CUDA device, or emulated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pyharness.kernels.arrays import describe
from pyharness.kernels.libraries import Device, library_of
from pyharness.kernels.pair_chunks import (
    Chunk,
    Segments,
    bad_id,
    chunk_positions,
    host_chunks,
    narrowed_chunks,
    on_host,
)
from pyharness.kernels.pair_uploads import uploads_for
from pyharness.kernels.place import Place, module_for, stream_handle
from pyharness.types import InputError, Unsupported

HOST = Device(is_cuda=False, number=0)
OUT_OF_MEMORY = (
    "pair_histogram needs {needed:,} more bytes on {device} for {purpose}, and {free:,} are free: "
    "count parts of the corpus, or use device='cpu'"
)
# What a position of a round takes. "sort": two arrays of keys, two of weights, and what CUB needs. "partition": what is
# left of a pair, and a place for a row; with weights those too, and rows of two words. Rounds halve where ids are too
# large for it.
SORTED_BYTES, PARTITIONED_BYTES, WEIGHTED_BYTES = 40, 12, 28


def count_on_device(
    tokens: Any, offsets: Any, weights: Any, method: str, kernels: str | Device, stream: Any
) -> tuple[Any, Any, Any]:
    """Left ids, right ids and counts, as :func:`pyharness.kernels.pair_histogram` returns them."""
    place = replace(_place(tokens, kernels, stream), out_of_memory=OUT_OF_MEMORY)
    place.refuse_capture("pair_histogram waits for the sizes of buckets: call it outside of the capture")
    streamed = isinstance(tokens, np.ndarray)
    with place.using():
        free = place.library.free_bytes(place.device)
        # Half of the free memory: rows of earlier rounds, and the ordering of all rows, want memory too.
        needed = SORTED_BYTES if method == "sort" else PARTITIONED_BYTES if weights is None else WEIGHTED_BYTES
        tuning = {"positions_per_round": max(1 << 16, min(1 << 30, free // 2 // needed))}
        counter = place.module.PairCounter(
            "partition" if method == "auto" else method, place.allocate, place.device.number, tuning | TUNING
        )
        chunks = _streamed if streamed else _resident
        for chunk in chunks(tokens, offsets, weights, place, free):
            counter.add(chunk.tokens, chunk.first, chunk.offsets, chunk.weights, place.stream)
        rows = counter.order(place.stream)
        columns = [place.empty((rows,), dtype, "the result") for dtype in ("uint32", "uint32", "uint64")]
        counter.write(*columns, place.stream)
        if streamed:
            columns = [place.download(column, column.dtype.name) for column in columns]
    left, right, count = columns
    return left, right, count


TUNING: dict[str, int] = {}  # sizes of launches and tables that tests change; results do not depend on them


def _place(tokens: Any, kernels: str | Device, stream: Any) -> Place:
    if isinstance(kernels, Device):
        module = module_for(kernels)  # first: without a device its reason is the error
        library = library_of(tokens, kernels)
        return Place(module, library, kernels, stream_handle(stream, library, kernels), 1)
    try:
        from pyharness import _emulated
    except ImportError:
        raise Unsupported("device 'emulated' is not in this build: editable installs have it") from None
    return Place(_emulated, library_of(tokens, HOST), HOST, stream_handle(stream, library_of(tokens, HOST), HOST), 1)


def _streamed(tokens: Any, offsets: Any, weights: Any, place: Place, free: int) -> Iterator[Chunk]:
    if tokens.ndim != 1:
        raise ValueError("tokens must have one dimension")
    if tokens.dtype != np.uint32:
        raise TypeError(f"tokens must have dtype uint32, not {tokens.dtype}")
    segments = Segments.on_host(
        None if offsets is None else on_host(offsets, "offsets"),
        None if weights is None else on_host(weights, "weights"),
        len(tokens),
    )
    size = chunk_positions(free, len(tokens), segments)
    yield from host_chunks(tokens, segments, size, uploads_for(place))


def _resident(tokens: Any, offsets: Any, weights: Any, place: Place, free: int) -> Iterator[Chunk]:
    info = describe(tokens, "tokens")
    if len(info.shape) != 1 or (info.shape[0] > 1 and info.strides != (1,)):
        raise ValueError("tokens must have one dimension and be contiguous: copy them first")
    if info.dtype not in ("uint32", "int32", "int64"):
        raise TypeError(f"tokens must hold uint32, int32 or int64, not {info.dtype}")
    size = info.shape[0]
    tokens = place.library.own(tokens)
    if offsets is not None or weights is not None:
        offsets = np.array([0, size], np.int64) if offsets is None else offsets
        offsets, weights = _here(offsets, "offsets", place), _here(weights, "weights", place)
        place.module.check_segments(offsets, weights, size, **place.options)
    if info.dtype == "int64":
        yield from narrowed_chunks(tokens, offsets, weights, chunk_positions(free, size, None), place)
        return
    if info.dtype == "int32":
        bad = place.module.find_bad_id(tokens, None, **place.options)
        if bad >= 0:
            raise bad_id(bad, int(tokens[bad]))
    yield Chunk(tokens, 0, offsets, weights)


def _here(array: Any, name: str, place: Place) -> Any:
    """Offsets or weights where the tokens are: host arrays are copied there."""
    if array is None:
        return None
    where, here = describe(array, name).device, place.device
    if where == here:
        return array
    if where.is_cuda:
        raise InputError(f"{name} are on {where}, the tokens on {here}: move them there")
    return place.upload(np.ascontiguousarray(on_host(array, name)), name)
