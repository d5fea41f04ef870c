"""What becomes of the rows of vocabulary matrices when a model changes its tokenizer: a row by row plan, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.features.adaptation.types import IdMap
from pyharness.types import Offsets, offsets_of


class Operation(IntEnum):
    """How a new row is made of old ones."""

    COPY = 0  # the row of the same token: the bytes of its numbers
    MEAN = 1  # mean of the named rows; one that is named twice counts twice
    ROW = 2  # the row of another token, that was asked for; behind it that of the same token, if there was one
    KEPT = 3  # a row that no token has: of padding, or of a gap between ids
    AVERAGE = 4  # mean of the rows of all old tokens
    RANDOM = 5  # normal, with the mean and standard deviation that each column has over the rows of all old tokens


_OF_ONE = (Operation.COPY, Operation.ROW, Operation.KEPT)
Step: TypeAlias = tuple[Operation, tuple[int, ...]]  # and the old rows that it takes


@dataclass(frozen=True, slots=True)
class Numbering:
    """Ids of a tokenizer, as far as rows go."""

    ids: int  # largest id + 1
    gaps: tuple[int, ...] = ()  # ids below that no token has
    sha256: str | None = None  # of the tokenizer's file; None where ids were given without one


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingPlan:
    """Operation and sources of every new row: row ``r`` takes ``sources[offsets[r]:offsets[r + 1]]``."""

    operations: NDArray[np.uint8]  # Operation [new rows]
    sources: NDArray[np.int64]  # old rows
    offsets: Offsets  # int64 [new rows + 1]
    rows: int  # of the matrices that it is for
    old: Numbering
    new: Numbering
    checkpoint: str  # digest of the model's folder
    seed: int = 0  # of random rows

    @classmethod
    def of_steps(
        cls, steps: Iterable[Step], *, rows: int, old: Numbering, new: Numbering, checkpoint: str, seed: int = 0
    ) -> EmbeddingPlan:
        """Build from one step for each new row."""
        done = list(steps)
        return cls(
            operations=np.array([step[0] for step in done], np.uint8),
            sources=np.array([source for step in done for source in step[1]], np.int64),
            offsets=offsets_of([len(step[1]) for step in done]),
            rows=rows,
            old=old,
            new=new,
            checkpoint=checkpoint,
            seed=seed,
        )

    def __len__(self) -> int:
        """Rows after."""
        return len(self.operations)

    @property
    def counts(self) -> Mapping[Operation, int]:
        """New rows of each operation."""
        found = np.bincount(self.operations, minlength=len(Operation)).tolist()
        return {operation: found[operation] for operation in Operation}

    @property
    def single(self) -> NDArray[np.int64]:
        """int64 [new rows]: the old row whose bytes a new row gets; -1 where it is computed."""
        of_one = np.isin(self.operations, _OF_ONE)
        first = np.full(len(self), -1, np.int64)
        first[of_one] = self.sources[self.offsets[:-1][of_one]]
        return first

    @property
    def ids(self) -> IdMap:
        """Where each old row is the row of the same token, by preference where it was."""
        where = np.full(self.rows, -1, np.int64)
        own = np.diff(self.offsets) > (self.operations == Operation.ROW)  # of another's row, the second one
        new = np.flatnonzero(own & np.isin(self.operations, _OF_ONE))[::-1]  # the first one stays
        old = self.sources[self.offsets[1:][new] - 1]
        where[old] = new
        where[old[old == new]] = new[old == new]
        return IdMap(where, len(self))

    @property
    def added(self) -> list[int]:
        """Ids of the new tokenizer that are no old row's."""
        old = set(self.ids.new.tolist())
        return [token for token in range(self.new.ids) if token not in old]

    @property
    def tokens(self) -> NDArray[np.bool_]:
        """bool [old rows]: those of tokens, neither padding nor gaps."""
        there = np.arange(self.rows) < self.old.ids
        there[list(self.old.gaps)] = False
        return there

    def of_row(self, row: int) -> NDArray[np.int64]:
        """Old rows that a new row takes."""
        return self.sources[self.offsets[row] : self.offsets[row + 1]]
