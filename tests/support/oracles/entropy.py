"""Slow references around next-token entropy: the outputs themselves, and two users of them.

``blt_lengths`` follows ``bytelatent/data/patcher.py`` of facebookresearch/blt, ``curriculum_groups`` arXiv 2502.17910.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def outputs(logits: Floats, targets: Sequence[int] | NDArray[np.int64], temperature: float = 1.0) -> dict[str, Floats]:
    """All outputs of rows in float64, from their definitions."""
    rows = [row_outputs(row / temperature, int(target)) for row, target in zip(logits, targets, strict=True)]
    names = ("entropy", "log_sum_exp", "nll", "max_probability", "argmax", "margin")
    return {name: np.array([row[position] for row in rows]) for position, name in enumerate(names)}


def row_outputs(row: Floats, target: int) -> tuple[float, ...]:
    if np.isnan(row).any() or (row == np.inf).any() or (row == -np.inf).all():
        return (np.nan,) * 4 + (-1, np.nan)
    finite = row[row > -np.inf]
    largest = finite.max()
    weights = np.exp(finite - largest)
    log_sum = np.log(weights.sum())
    entropy = log_sum - (weights * (finite - largest)).sum() / weights.sum()
    second = np.sort(finite)[-2] if len(finite) > 1 else -np.inf
    return (
        entropy,
        largest + log_sum,
        log_sum + (largest - row[target]),
        1 / weights.sum(),
        int(row.argmax()),
        largest - second,
    )


def blt_lengths(
    h: Sequence[float], n: int, threshold: float, mode: str = "global", t_add: float = 0.0, max_len: int | None = None
) -> list[int]:
    """Patch lengths over n bytes; h[i], of the prediction made at i, decides whether byte i + 1 starts a patch."""
    following = h[1:]  # bytes 0 and 1 always start one
    starts = [0, 1]
    for k, entropy in enumerate(following[: n - 2]):
        rise = entropy - following[k - 1] if k else np.inf
        begins = {
            "global": entropy > threshold,
            "monotonic": rise > threshold,
            # The first one is forced; the repository's mask, tested before it is filled, blocks the second.
            "both": k == 0 or (k != 1 and rise > t_add and entropy > threshold),
        }[mode]
        if begins:
            starts.append(k + 2)
    lengths = [end - begin for begin, end in pairwise([*starts, n])]
    if max_len is None:
        return lengths
    cut = [[max_len] * ((length - 1) // max_len) + [(length - 1) % max_len + 1] for length in lengths]
    return [length for part in cut for length in part]


def curriculum_groups(
    ids: Sequence[int], signal: Sequence[float], eps: float, quantile: float | None = None, strict: bool = False
) -> list[list[int]]:
    """Runs of tokens whose signal, after the first's, is below eps and does not rise (strict: falls)."""
    if quantile is not None:
        eps = min(eps, float(np.quantile(signal, quantile)))
    runs = [[ids[0]]]
    for i in range(1, len(ids)):
        joins = signal[i] < eps and (signal[i] < signal[i - 1] if strict else signal[i] <= signal[i - 1])
        if joins:
            runs[-1].append(ids[i])
        else:
            runs.append([ids[i]])
    return [run for run in runs if len(run) > 1]
