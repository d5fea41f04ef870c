"""Types of actions: chunks of equal-length vectors, and codecs that write them as ids. An action is not text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pyharness.types import Corpus, Digest, Ids

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Damaged(ValueError):
    """Ids of no chunk: the message says why."""


@dataclass(frozen=True, slots=True)
class ActionChunk:
    """Consecutive frames of a clip."""

    frames: NDArray[np.float64]  # [frames, dimensions], in units of the data
    clip: Digest  # of the whole clip
    opens: bool  # whether it is the clip's first chunk
    left_out: int = 0  # later frames of the clip, too few for another chunk


KIND = "motions"  # of corpora


@runtime_checkable
class MotionCorpus(Corpus, Protocol):
    """Clips of motion: ``documents`` yields their chunks, each a JSON row like those of a file of clips."""

    kind: str
    chunk_frames: int
    skip: int  # leading values of each frame that are not part of the action


@runtime_checkable
class ActionCodec(Protocol):
    """Codec of chunks: values -> whole numbers (``quantised``) -> ids (``encode``), and back."""

    @property
    def dimensions(self) -> int:
        """Number of values per frame."""

    @property
    def vocab_size(self) -> int:
        """Number of ids."""

    @property
    def lossless(self) -> bool:
        """Whether ``decode`` restores any result of ``quantised``."""

    @property
    def zeros_for_damaged(self) -> bool:
        """Whether zeros stand for undecodable ids in a stream, as in the authors' processor; ``decode`` raises."""

    @property
    def half_widths(self) -> NDArray[np.float64]:
        """Units of the data per unit of the codec, float64 [dimensions]."""

    @property
    def trained_on(self) -> frozenset[Digest]:
        """Digests of the clips of the fit; the benchmark refuses these clips."""

    @property
    def skip(self) -> int:
        """Number of leading values of each frame that are not part of the action, in the files of the fit."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the settings for a record; JSON values."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes from the fit."""

    @property
    def header(self) -> Mapping[str, Any]:
        """Return kind and parameters for the header of a stream, without vocabulary and bounds; JSON values."""

    def normalised(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert float64 [frames, dimensions] from units of the data to those of the codec, mostly -1..1."""

    def quantised(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Quantise float64 [frames, dimensions] to int64 [numbers].

        Raises:
            InputError: values are not finite, of other dimensions, or too far outside of the fitted range; or there
                are no frames, or more than 4,096.
        """

    def outside(self, numbers: NDArray[np.int64]) -> int:
        """Count the numbers that ``encode`` escapes, clamps or drops."""

    def encode(self, numbers: NDArray[np.int64]) -> Ids:
        """Encode int64 [numbers] to uint32 [ids].

        Raises:
            TypeError: a number has no character; only from the authors' version.
        """

    def decode(self, ids: Ids, frames: int) -> NDArray[np.int64]:
        """Inverse of ``encode``.

        Raises:
            Damaged: the ids are of no chunk of so many frames.
        """

    def restored(self, numbers: NDArray[np.int64], frames: int) -> NDArray[np.float64]:
        """Restore float64 [frames, dimensions] in units of the data from int64 [numbers]."""
