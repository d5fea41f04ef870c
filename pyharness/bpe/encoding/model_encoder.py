"""The face that every encoder of a model has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.splitting.text_splitter import Pieces
from pyharness.types import Ids, Tokens


@dataclass(frozen=True, slots=True)
class Places:
    """Where texts stand: text ``t`` is a part of document ``documents[t]`` and starts at its byte ``positions[t]``."""

    documents: NDArray[np.uint64]  # [texts]
    positions: NDArray[np.uint64]  # [texts]


class ModelEncoder(Protocol):
    """Ids of texts, without special tokens, by the model and the splitter that it was made for.

    The ids depend neither on threads nor on batches nor on what was encoded before, and one instance may be used by
    several threads at once. ``places`` are what the draws of dropout depend on; no other encoder looks at them.
    """

    @property
    def shortcut(self) -> Callable[[str | bytes], Ids]:
        """The quickest function that encodes one text: uint32 [tokens]."""
        ...

    def encode_batch(self, texts: Sequence[str | bytes], threads: int = 1, *, places: Places | None = None) -> Tokens:
        """Split texts and encode them."""
        ...

    def encode_pieces(
        self, texts: Sequence[str | bytes], pieces: Pieces, threads: int = 1, *, places: Places | None = None
    ) -> Tokens:
        """Encode texts that were split elsewhere."""
        ...
