"""Patches of bytes, as byte-latent transformers read text: ``patches:static?size=4``, ``patches:space``,
``patches:entropy?corpus=sample:prose``.

Patches without a model have a fixed size, or end after spaces (BLT, arXiv 2412.09871, section 2).

>>> SpacePatches("repo").segment_batch(["Hi, you."]).ends.tolist()
[1, 3, 8]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.features.segmentation import entropy_patches
from pyharness.features.segmentation.text_bytes import laid_out, segments_of_starts
from pyharness.plugins.registry import pick
from pyharness.plugins.specification import check_options
from pyharness.tokenizers.segmenting import row_of_units, whole_number
from pyharness.types import InputError, Segments, TokenizerFamily, TokenizerSpec, TrainingProgress, offsets_of


def _space_like() -> NDArray[np.bool_]:
    """Return whether each byte is neither ASCII letter nor digit nor UTF-8 continuation, bool [256]."""
    like = np.ones(256, np.bool_)
    for first, last in (b"09", b"AZ", b"az", b"\x80\xbf"):
        like[first : last + 1] = False
    return like


SPACE_LIKE = _space_like()


@dataclass(slots=True)
class StaticPatches:
    """Patches of ``size`` bytes; the last one of a text may be shorter."""

    size: int
    is_causal: bool = True

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents. One thread suffices: only the sizes of the texts matter."""
        del threads
        sizes = np.array([len(text.encode()) for text in texts], np.int64)
        offsets = offsets_of(-(-sizes // self.size))
        counts = np.diff(offsets)
        numbers = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
        ends = np.minimum((numbers + 1) * self.size, np.repeat(sizes, counts))
        return Segments(ends, offsets, np.zeros(len(sizes), np.bool_))


@dataclass(slots=True)
class SpacePatches:
    """Patches that end after the first byte of each run of space-like bytes.

    A byte is space-like if it is neither ASCII letter nor digit nor UTF-8 continuation. So the first byte of each
    character outside of ASCII is. ``reading`` is "paper" or "repo", the authors' repository. There a patch also starts
    at byte 1, because the first byte replaces the mark of the beginning.
    """

    reading: str = "repo"
    is_causal: bool = True

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents. One thread suffices: this runs at memory speed."""
        del threads
        data, offsets = laid_out(texts)
        like = SPACE_LIKE[data]
        firsts = offsets[:-1][np.diff(offsets) > 0]
        behind = like.copy()  # whether a patch ends after this byte
        behind[1:] &= ~like[:-1]
        behind[firsts] = like[firsts]
        if self.reading == "repo":
            behind[firsts] = True
        starts = np.zeros(len(data), np.bool_)
        starts[1:] = behind[:-1]
        return segments_of_starts(starts, offsets)


READINGS = ("repo", "paper")


def static(name: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe patches of a fixed size."""
    check_options(name, options, ("size",))
    size = whole_number(name, options, "size", 4, entropy_patches.LARGEST)
    return row_of_units(name, lambda _: StaticPatches(size), f"patches of {size} bytes")


def space(name: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe patches that end after spaces."""
    check_options(name, options, ("reading",))
    reading = options.get("reading", READINGS[0])
    if reading not in READINGS:
        raise InputError(f"{name}: reading={reading} is not known; known: {', '.join(READINGS)}")
    whose = {"repo": "the authors' repository", "paper": "the paper"}[reading]
    return row_of_units(name, lambda _: SpacePatches(reading), f"patches that end after spaces, as in {whose}")


KINDS = {"static": static, "space": space, "entropy": entropy_patches.expand}


def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe the row."""
    return pick("kind of patches", argument, KINDS)(f"patches:{argument}", options)


def prepare(
    argument: str, options: Mapping[str, str], progress: Callable[[TrainingProgress], None] | None = None
) -> None:
    """Train the model of a row and find its threshold, if it has them."""
    if argument == "entropy":
        entropy_patches.prepare(options, progress)


def prepared(argument: str, options: Mapping[str, str]) -> bool:
    """Whether the model that a row trains exists; True for a row that trains none."""
    return argument != "entropy" or entropy_patches.prepared(options)


FAMILIES = (
    TokenizerFamily(
        name="patches",
        expand=expand,
        summary="patches of bytes, without a vocabulary: of a fixed size (?size=4), after spaces (?reading=paper), by "
        "entropy (?corpus= or model=, threshold= or target= and calibration=)",
        example="patches:space",
        known=lambda: tuple(KINDS),
        prepare=prepare,
        prepared=prepared,
    ),
)
