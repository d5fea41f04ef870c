"""The self-tokenization test, layers 1 and 2, over a whole vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.types import Ids, MergeModel, Tokens


class Verdict(IntEnum):
    """What became of an id."""

    NOT_TESTED = 0
    REACHABLE = 1  # its base symbols encode to itself
    MODEL = 2  # layer 2: rules could make it, but its own base symbols encode to something else
    UNDERIVABLE = 3  # layer 1: no sequence of rules makes it


@dataclass(frozen=True, slots=True)
class SelfTokenization:
    """Verdict of every id, and what the model gives instead of the ids that failed."""

    verdict: NDArray[np.uint8]  # Verdict [n]
    failed: Ids  # ids with MODEL or UNDERIVABLE, ascending
    witnesses: Tokens  # document k: what the base symbols of failed[k] encode to


def self_tokenization(model: MergeModel, threads: int = 1) -> SelfTokenization:
    """Test every id that ``model.tested`` names, with whole-piece shortcuts off.

    ``threads`` does not change the result.

    Raises:
        ValueError: the model's arrays do not fit each other, or an id is out of range.
        TypeError: an array has another dtype.

    Source: arXiv 2512.03989 section "Self-Tokenization Test"; ``spec/algorithms.md`` 3.3; ``spec/metrics.md``.
    """
    verdict, failed, ids, offsets = _core.self_tokenization(model, threads)
    return SelfTokenization(verdict, failed, Tokens(ids, offsets))
