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
        """Return the extension by so many strings: what makes no other new string, up to the last rule for one.

        A training for fewer tokens ends with the rule of its last string, so rules that make an old string after that
        are left out.
        """
        import numpy as np

        if tokens > len(self.tokens):
            return self
        limit = self.base_ids + tokens
        kept = np.flatnonzero((self.rules < limit).all(axis=1))
        made = np.flatnonzero(self.rules[kept, 2] >= self.base_ids)
        kept = kept[: int(made[-1]) + 1 if len(made) else 0]
        return Extension(self.base_ids, self.tokens[:tokens], self.rules[kept], self.counts[kept], complete=True)


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
