"""Where patches start, from the entropy of every byte's prediction (BLT, arXiv 2412.09871, section 2.3), in float32.

>>> entropies = np.array([5, 1, 0.5, 2, 1, 3], np.float32)
>>> patch_starts(entropies, np.array([0, 6]), PatchRule(threshold=1.5)).tolist()
[True, True, False, True, False, True]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.types import Offsets

MODES = ("global", "monotonic", "combined")
THRESHOLD = 1.335442066192627  # nats: that of the authors' repository, for the model they trained
Entropies = NDArray[np.float32]  # [bytes], nats: of the prediction of byte i from those before it in its text


@dataclass(frozen=True, slots=True)
class PatchRule:
    """What starts a patch.

    ``global``: an entropy above the threshold. ``monotonic``: one that is larger than that of the byte before by more
    than the threshold. ``combined``: one above the threshold that is larger by more than ``threshold_add``.
    """

    mode: str = "global"
    threshold: float = THRESHOLD  # nats
    threshold_add: float = 0.0  # nats; of ``combined`` alone
    max_patch_length: int | None = None  # bytes; a longer patch is cut every so many


def patch_starts(entropies: Entropies, texts: Offsets, rule: PatchRule) -> NDArray[np.bool_]:
    """Whether a patch starts with each byte of texts that lie end to end, bool [bytes].

    As in the authors' repository: bytes 0 and 1 of a text always do; in modes other than ``global`` byte 2 does, too;
    and in ``combined`` byte 3 never does, because the mask that is to keep starts apart is read before it is filled.
    """
    starts = marks(entropies, rule)
    first = texts[:-1][np.diff(texts) > 0]
    size = len(entropies)
    for place in (0, 1) if rule.mode == "global" else (0, 1, 2):
        _put(starts, first + place, texts, value=True)
    if rule.mode == "combined":
        _put(starts, first + 3, texts, value=False)
    if rule.max_patch_length is not None and size:
        places = np.arange(size)
        since = places - np.maximum.accumulate(np.where(starts, places, 0))
        starts |= since % rule.max_patch_length == 0
    return starts


def marks(entropies: Entropies, rule: PatchRule) -> NDArray[np.bool_]:
    """Which bytes the thresholds speak for, wherever texts begin."""
    threshold, added = np.float32(rule.threshold), np.float32(rule.threshold_add)
    if rule.mode == "global":
        return np.asarray(entropies > threshold, np.bool_)
    grown = np.diff(entropies, prepend=np.float32(0))
    if rule.mode == "monotonic":
        return np.asarray(grown > threshold, np.bool_)
    return np.asarray((grown > added) & (entropies > threshold), np.bool_)


def _put(starts: NDArray[np.bool_], places: NDArray[np.int64], texts: Offsets, *, value: bool) -> None:
    """Write where a place is still in the text that it counts from."""
    ends = texts[1:][np.diff(texts) > 0]
    starts[places[places < ends]] = value
