"""Ids of documents, laid end to end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # every module imports these, even for ``--help``, and NumPy takes 0.1 s
    import numpy as np
    from numpy.typing import NDArray

Ids: TypeAlias = "NDArray[np.uint32]"

Offsets: TypeAlias = "NDArray[np.int64]"


def offsets_of(lengths: Sequence[int] | NDArray[Any]) -> Offsets:
    """Return the starts of parts of these lengths, laid end to end, and the end of the last one.

    Args:
        lengths: integers, none negative, [parts]; booleans count as 0 and 1.

    Returns:
        int64 [parts + 1]: part ``k`` is ``offsets[k]:offsets[k + 1]``.

    >>> offsets_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    import numpy as np

    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token ids of a batch of documents, laid end to end.

    Document ``d`` is ``ids[offsets[d]:offsets[d + 1]]``.
    """

    ids: Ids  # uint32 [n_tokens]
    offsets: Offsets  # int64 [n_documents + 1], starts at 0

    @classmethod
    def from_lists(cls, lists: Sequence[Sequence[int] | Ids]) -> Tokens:
        """Concatenate one list (or array) of ids per document."""
        import numpy as np

        offsets = offsets_of([len(ids) for ids in lists])
        ids = np.empty(int(offsets[-1]), np.uint32)
        for document, start, stop in zip(lists, offsets[:-1], offsets[1:], strict=True):
            ids[start:stop] = document
        return cls(ids, offsets)

    def document(self, index: int) -> Ids:
        """Return the ids of one document, without a copy."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1
