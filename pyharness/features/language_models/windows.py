"""Windows over documents that are longer than a model's context. Each token but a document's first is predicted once.

The windows are those of the sliding evaluation in the Hugging Face guide "Perplexity of fixed-length models": they
start every ``stride`` tokens and hold ``context`` of them. With ``stride == context`` they are the disjoint windows of
lm-evaluation-harness (``get_rolling_token_windows`` with one token of context).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Window:
    """Inputs ``[start, stop)`` of a sequence; they predict its tokens ``start + 1 .. stop``.

    This window scores ``first .. stop``. An earlier window scored the tokens before, with more context.
    """

    sequence: int
    start: int
    stop: int
    first: int

    def __len__(self) -> int:
        return self.stop - self.start


def sliding_windows(lengths: Iterable[int], context: int, stride: int) -> Iterator[Window]:
    """Cover tokens ``1 .. length - 1`` of every sequence, each behind at least ``context - stride + 1`` others.

    Tokens at the start of a sequence have fewer before them.

    Raises:
        ValueError: not ``1 <= stride <= context``.

    >>> [(w.start, w.stop, w.first) for w in sliding_windows([8], context=4, stride=2)]
    [(0, 4, 1), (2, 6, 5), (4, 7, 7)]
    """
    if not 1 <= stride <= context:
        raise ValueError(f"stride {stride} is not from 1 to the context of {context}")
    for sequence, length in enumerate(lengths):
        scored = 0
        for start in range(0, length, stride):
            if scored == length - 1:
                break
            stop = min(start + context, length - 1)
            yield Window(sequence, start, stop, scored + 1)
            scored = stop


def batches(windows: Iterable[Window], batch_tokens: int) -> Iterator[list[Window]]:
    """Group windows of similar length, longest first, so that a batch has at most ``batch_tokens`` with padding.

    A longer window is a batch of its own.
    """
    batch: list[Window] = []
    for window in sorted(windows, key=len, reverse=True):
        if batch and (len(batch) + 1) * len(batch[0]) > batch_tokens:
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch


@dataclass(frozen=True, slots=True)
class Layout:
    """A batch in a model's form: padded on the right, which no token of a causal model sees."""

    ids: NDArray[np.int64]  # [windows, longest]
    attended: NDArray[np.int64]  # [windows, longest], 0 on padding
    scored: NDArray[np.bool_]  # [windows, longest]: the inputs whose prediction is scored
    targets: NDArray[np.int64]  # [scored], row by row

    @classmethod
    def of(cls, sequences: Sequence[NDArray[np.int64]], batch: Sequence[Window]) -> Layout:
        """Lay out windows of sequences."""
        shape = (len(batch), max(map(len, batch)))
        ids, attended, scored = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
        for row, window in enumerate(batch):
            ids[row, : len(window)] = sequences[window.sequence][window.start : window.stop]
            attended[row, : len(window)] = 1
            scored[row, window.first - 1 - window.start : len(window)] = True
        targets = [sequences[window.sequence][window.first : window.stop + 1] for window in batch]
        return cls(ids, attended, scored, np.concatenate(targets))
