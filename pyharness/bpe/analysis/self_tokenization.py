"""The self-tokenization test, layers 1 and 2, over a whole vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.types import Ids, MergeModel, Tokens

NEVER = 2**32 - 1


class Verdict(IntEnum):
    """The outcome of one id.

    >>> Verdict(1).name
    'REACHABLE'
    """

    NOT_TESTED = 0
    REACHABLE = 1  # its base symbols encode to itself
    MODEL = 2  # layer 2: rules could make it, but its own base symbols encode to something else
    UNDERIVABLE = 3  # layer 1: no sequence of rules makes it


@dataclass(frozen=True, slots=True)
class SelfTokenization:
    """Verdict of every id, and what the model gives instead of the ids that failed.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> result = self_tokenization(model_of_training(trained, "gpt2").merges)
    >>> result.parts[257].tolist(), result.parts[0].tolist() == [NEVER, NEVER]  # h and ug; a byte is not merged
    ([104, 256], True)
    """

    verdict: NDArray[np.uint8]  # Verdict [n]
    parts: NDArray[np.uint32]  # [n, 2]: the symbols whose merge made each reachable id; NEVER where no merge did
    failed: Ids  # ids with MODEL or UNDERIVABLE, ascending
    witnesses: Tokens  # document k: what the base symbols of failed[k] encode to


def self_tokenization(model: MergeModel, threads: int = 1) -> SelfTokenization:
    """Test every id that ``model.tested`` names, with whole-piece shortcuts off.

    ``threads`` does not change the result.

    >>> model = import_model(b"minbpe v1\\n\\n0\\n98 99\\n97 98\\n257 99\\n")  # 256 is bc, 257 is ab, 258 is ab + c
    >>> result = self_tokenization(model.merges)
    >>> result.failed.tolist(), result.witnesses.document(0).tolist()  # in abc, the rule of bc comes first
    ([258], [97, 256])
    >>> Verdict(result.verdict[258]).name
    'MODEL'

    Raises:
        ValueError: the model's arrays do not fit each other, or an id is out of range.
        TypeError: an array has another dtype.

    Source: arXiv 2512.03989; docs/metrics.md "Reachability"; docs/algorithms.md "Self-tokenization".
    """
    verdict, parts, failed, ids, offsets = _core.self_tokenization(model, threads)
    return SelfTokenization(verdict, parts.reshape(-1, 2), failed, Tokens(ids, offsets))


_REMEMBERED: WeakKeyDictionary[MergeModel, SelfTokenization] = WeakKeyDictionary()


def remembered_self_tokenization(model: MergeModel, threads: int = 1) -> SelfTokenization:
    """Give what :func:`self_tokenization` gives, kept as long as the model is, in arrays that are read-only.

    Reading a file, extending it and checking what comes of it all ask.

    Raises:
        ValueError, TypeError: as :func:`self_tokenization`.
    """
    known = _REMEMBERED.get(model)
    if known is None:
        known = _REMEMBERED[model] = self_tokenization(model, threads)
        for array in (known.verdict, known.parts, known.failed, known.witnesses.ids, known.witnesses.offsets):
            array.flags.writeable = False
    return known
