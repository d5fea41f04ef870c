"""Boundaries of the units of texts: patches, sentences, words, characters, or tokens that spell their text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pyharness.types.corpora import Digest
from pyharness.types.vocabularies import Offsets, offsets_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Segments:
    """Ends of the units of texts: those of text ``t`` at bytes ``ends[offsets[t]:offsets[t + 1]]`` of its UTF-8.

    The ends of a text strictly increase, and the last is its size. A text that the units do not spell (lossy
    tokenizers) is ``missing`` and has no ends. An empty text has no ends and is not missing.
    """

    ends: NDArray[np.int64]  # [units]
    offsets: Offsets  # int64 [texts + 1]
    missing: NDArray[np.bool_]  # [texts]

    @classmethod
    def of_places(cls, places: NDArray[np.int64], texts: Offsets) -> Segments:
        """Build segments of texts that are laid end to end.

        Args:
            places: ends of units in the whole, increasing; they include the end of each text that is not empty.
            texts: start of each text in the whole, and the end of the last one, int64 [texts + 1].

        >>> import numpy as np
        >>> Segments.of_places(np.array([1, 3, 5]), np.array([0, 3, 3, 5])).ends.tolist()
        [1, 3, 2]
        """
        import numpy as np

        offsets = np.searchsorted(places, texts, side="right").astype(np.int64)
        starts = np.repeat(texts[:-1], np.diff(offsets))
        return cls(places - starts, offsets, np.zeros(len(texts) - 1, np.bool_))

    @classmethod
    def from_lists(cls, lists: Sequence[Sequence[int] | None]) -> Segments:
        """Concatenate the ends of texts; None marks a missing text."""
        import numpy as np

        ends = [end for one in lists for end in one or ()]
        offsets = offsets_of([len(one or ()) for one in lists])
        return cls(np.array(ends, np.int64), offsets, np.array([one is None for one in lists], np.bool_))

    @classmethod
    def from_arrays(cls, arrays: Sequence[NDArray[np.int64]]) -> Segments:
        """Concatenate the ends of texts, with no text missing."""
        import numpy as np

        ends = np.concatenate([np.zeros(0, np.int64), *arrays])
        return cls(ends, offsets_of([len(array) for array in arrays]), np.zeros(len(arrays), np.bool_))

    def document(self, index: int) -> NDArray[np.int64]:
        """Return the ends of the units of one text, without a copy."""
        return self.ends[self.offsets[index] : self.offsets[index + 1]]

    def fault(self, sizes: NDArray[np.int64]) -> str | None:
        """Return why these are not the units of texts of ``sizes`` bytes, int64 [texts]; None if they are."""
        import numpy as np

        counts = np.diff(self.offsets)
        laid_out = len(self.offsets) and self.offsets[0] == 0 and self.offsets[-1] == len(self.ends)
        if not laid_out or not len(counts) == len(self.missing) == len(sizes) or (counts < 0).any():
            return f"units of {len(counts)} texts that are not laid end to end, of {len(sizes)} texts"
        filled = counts > 0
        lengths = np.diff(self.ends, prepend=0)
        lengths[self.offsets[:-1][filled]] = self.ends[self.offsets[:-1][filled]]
        empty = (
            np.add.reduceat(np.append(lengths <= 0, False), self.offsets[:-1], dtype=np.int64) if filled.any() else 0
        )
        reached = np.zeros(len(sizes), np.int64)
        reached[filled] = self.ends[self.offsets[1:][filled] - 1]
        wrong = np.where(self.missing, filled, reached != sizes) | (filled & (empty != 0))
        if not wrong.any():
            return None
        text = int(np.flatnonzero(wrong)[0])
        return f"the units of a text of {int(sizes[text])} bytes end at {_show(self.document(text))}"

    def __len__(self) -> int:
        return len(self.offsets) - 1


def _show(ends: NDArray[np.int64]) -> str:
    listed = ends.tolist()
    return f"{listed}" if len(listed) <= 8 else f"{listed[:4]} ... {listed[-4:]}"


@runtime_checkable
class HasSegments(Protocol):
    """Ability: cut texts into units."""

    # Whether the units of a prefix of a text are those of the whole, by construction. Tables state it; a measurement
    # tests it.
    is_causal: bool

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        """Cut documents into units, which depend neither on the batch nor on ``threads``."""


@runtime_checkable
class HasCalibration(Protocol):
    """Ability of a segmenter that was fitted to some text, on which it must not be measured."""

    def check_unseen(self, text: str, digests: Iterable[Digest]) -> None:
        """Raise ``InputError`` if a text was fitted to, by its digest or its document's; very short ones may pass."""


class NotSpelled(Exception):
    """Units whose concatenation is not their text: a wrong answer, so nothing is measured."""
