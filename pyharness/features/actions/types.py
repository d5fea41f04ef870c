"""Nouns of actions: chunks of equal-length vectors, and what writes them as ids. An action is no text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pyharness.types import Corpus, Digest, Ids

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Damaged(ValueError):
    """Ids that stand for no chunk: the message says why."""


@dataclass(frozen=True, slots=True)
class ActionChunk:
    """Some frames of a clip, one after the other."""

    frames: NDArray[np.float64]  # [frames, dimensions], in units of the data
    clip: Digest  # of the whole clip
    opens: bool  # whether it is the first of its clip
    left_out: int = 0  # frames of the clip behind it, too few for another chunk


KIND = "motions"  # of corpora


@runtime_checkable
class MotionCorpus(Corpus, Protocol):
    """Clips of motion: ``documents`` yields their chunks, each a row of JSON like that of a file of clips."""

    kind: str
    chunk_frames: int
    skip: int  # leading values of each frame of the file that are no action


@runtime_checkable
class ActionCodec(Protocol):
    """Writes chunks as ids: values -> whole numbers (``quantised``) -> ids (``encode``), and back."""

    @property
    def dimensions(self) -> int:
        """Values of a frame."""
        ...

    @property
    def vocab_size(self) -> int:
        """Ids in all."""
        ...

    @property
    def lossless(self) -> bool:
        """Whether ``decode`` gives back what ``quantised`` gave, whatever that was."""
        ...

    @property
    def zeros_for_damaged(self) -> bool:
        """Whether what cannot be decoded is answered with zeros and nobody is told, as the authors' processor does."""
        ...

    @property
    def half_widths(self) -> NDArray[np.float64]:
        """Units of the data that 1 of the codec's stands for, float64 [dimensions]."""
        ...

    @property
    def trained_on(self) -> frozenset[Digest]:
        """Clips that are not measured."""
        ...

    @property
    def skip(self) -> int:
        """Leading values of each frame of the files it was fitted to that are no action."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """What a record keeps; JSON values."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found when it was fitted."""
        ...

    @property
    def header(self) -> Mapping[str, Any]:
        """All that decoding needs beside ids and the number of frames; JSON values."""
        ...

    def normalised(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Float64 [frames, dimensions] in units of the data -> in those of the codec, mostly -1..1."""
        ...

    def quantised(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Float64 [frames, dimensions] -> int64 [numbers].

        Raises:
            InputError: values are no finite numbers, of other dimensions, or too far outside what was fitted.
        """
        ...

    def outside(self, numbers: NDArray[np.int64]) -> int:
        """How many of them lie outside the fitted range."""
        ...

    def encode(self, numbers: NDArray[np.int64]) -> Ids:
        """Int64 [numbers] -> uint32 [ids]."""
        ...

    def decode(self, ids: Ids, frames: int) -> NDArray[np.int64]:
        """Inverse of ``encode``.

        Raises:
            Damaged: the ids stand for no chunk of so many frames.
        """
        ...

    def restored(self, numbers: NDArray[np.int64], frames: int) -> NDArray[np.float64]:
        """Int64 [numbers] -> float64 [frames, dimensions] in units of the data."""
        ...
