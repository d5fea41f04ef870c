"""A chunk of motion, there and back, and with damage."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyharness.features.actions.codecs.damage import damaged
from pyharness.features.actions.codecs.fitting import refuse_training
from pyharness.features.actions.metrics import ActionState
from pyharness.features.actions.types import ActionCodec, Chunk, Damaged
from pyharness.types import Ids, InputError


class Unfaithful(Exception):
    """A codec that says it is lossless gave other numbers back."""


def add_chunk(state: ActionState, codec: ActionCodec, chunk: Chunk) -> None:
    """Encode a chunk, decode its ids, and its ids with damage.

    Raises:
        InputError: the chunk cannot be quantised, or is of a clip that the codec was fitted to.
        Unfaithful: the codec is lossless, and ids do not give back what was quantised.
    """
    refuse_training(codec, chunk.clip)
    state.clips += chunk.opens
    numbers = codec.quantised(chunk.frames)
    try:
        ids = codec.encode(numbers)
    except TypeError as error:  # of the authors' processor: half a surrogate pair
        raise InputError(f"a chunk cannot be encoded: {error}") from None
    decoded = _decoded(codec, ids, len(chunk.frames))
    faithful = decoded is not None and np.array_equal(decoded, numbers)
    if codec.lossless and not faithful:
        raise Unfaithful(f"chunk {int(state.counts[:, 0].sum()):,}: its ids do not give back what was quantised")
    given = np.zeros_like(numbers) if decoded is None else decoded
    made = codec.restored(given, len(chunk.frames))
    counts = {
        "chunks": 1, "values": chunk.frames.size, "tokens": len(ids), "outside": codec.outside(numbers),
        "unfaithful": int(not faithful), "left out": chunk.left_out,
    }  # fmt: skip
    state.add(counts, codec.normalised(made) - codec.normalised(chunk.frames))
    seed = chunk.clip + int(state.counts[:, 0].sum()).to_bytes(8, "little")
    for kind, wrong in damaged(ids, codec.vocab_size, seed):
        state.add_damaged(kind, _error(codec, wrong, made))


def _decoded(codec: ActionCodec, ids: Ids, frames: int) -> NDArray[np.int64] | None:
    try:
        return codec.decode(ids, frames)
    except Damaged:
        return None


def _error(codec: ActionCodec, ids: Ids, expected: NDArray[np.float64]) -> float | None:
    """Root mean square error of what damaged ids give; None where they fail."""
    numbers = _decoded(codec, ids, len(expected))
    if numbers is None:
        return None
    off = codec.normalised(codec.restored(numbers, len(expected))) - codec.normalised(expected)
    return float(np.sqrt(np.mean(off**2)))
