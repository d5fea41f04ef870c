"""What an adaptation does to a tokenizer: strings and rules that come, ids that go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyharness.types.tokens import Ids

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Extension:
    """Strings that a model gains, and the rules that make them, after all rules that it has.

    String ``tokens[k]`` has the provisional id ``base_ids + k``; a :class:`Placement` says which id it gets in a file.
    Row ``r`` of ``rules`` merges ``rules[r, 0]`` and ``rules[r, 1]`` into ``rules[r, 2]``, which is an old id where the
    rule makes a string that the model has. Its pair had ``counts[r]`` occurrences when it was chosen.
    """

    base_ids: int  # of the model: its largest id + 1
    tokens: tuple[bytes, ...]  # as ``MergeModel.data`` has strings, in the order in which they are made
    rules: Ids  # uint32 [rules, 3], in the order of their ranks
    counts: NDArray[np.uint64]  # [rules]
    complete: bool  # False: there was nothing left to merge before there were as many as were asked for

    def first(self, tokens: int) -> Extension:
        """Return the extension by so many strings, whose rules are the first ones of this.

        What makes an old string after the last of them is left out, too: a shorter training ends with its last string.
        """
        if tokens >= len(self.tokens):
            return self
        last = self.rules[:, 2] == self.base_ids + tokens - 1
        end = int(last.argmax()) + 1 if tokens else 0
        return Extension(self.base_ids, self.tokens[:tokens], self.rules[:end], self.counts[:end], complete=True)


@dataclass(frozen=True, slots=True)
class Placement:
    """Ids of the strings that an extension brings."""

    ids: Ids  # uint32 [tokens]: none twice, none that a token keeps
    size: int  # ids in all, gaps and padding among them: no less than the largest id + 1


@dataclass(frozen=True, slots=True)
class IdMap:
    """Where each old id has gone."""

    new: NDArray[np.int64]  # [old ids]; -1 where the token was removed
    size: int  # ids in all of what it maps to

    def __len__(self) -> int:
        return len(self.new)
