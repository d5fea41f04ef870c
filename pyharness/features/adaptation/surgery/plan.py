"""The plan of new rows of the vocabulary matrices when a model changes its tokenizer, and the plan's file.

The file is JSON, and is checked like any input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.features.adaptation.id_maps import IdMap
from pyharness.types import InputError, Offsets, offsets_of
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID


class Operation(IntEnum):
    """Operation that makes a new row from old ones."""

    COPY = 0  # the same token's row, byte for byte
    MEAN = 1  # mean of the named rows; a row named twice counts twice
    ROW = 2  # the requested row of another token; the second source, if any, is the token's own old row
    KEPT = 3  # a row without a token: padding, or a gap between ids
    AVERAGE = 4  # mean of the rows of all old tokens
    RANDOM = 5  # normal, with each column's mean and standard deviation over the rows of all old tokens


PLAN_FILE = "embedding_plan.json"
FORMAT = "pyharness-embedding-plan"
VERSION = 1
LARGEST_SEED = 2**32 - 1
_OF_ONE = (Operation.COPY, Operation.ROW, Operation.KEPT)
_SOURCES = {Operation.COPY: (1,), Operation.ROW: (1, 2), Operation.KEPT: (1,), Operation.AVERAGE: (0,),
            Operation.RANDOM: (0,)}  # fmt: skip
Step: TypeAlias = tuple[Operation, tuple[int, ...]]  # the old rows are its sources


@dataclass(frozen=True, slots=True)
class Numbering:
    """Numbering of a tokenizer's ids, for its rows."""

    ids: int  # largest id + 1
    gaps: tuple[int, ...] = ()  # lower ids without a token
    sha256: str | None = None  # of the tokenizer's file; None for ids without a file


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingPlan:
    """Operation and sources of every new row: row ``r`` takes ``sources[offsets[r]:offsets[r + 1]]``."""

    operations: NDArray[np.uint8]  # Operation [new rows]
    sources: NDArray[np.int64]  # old rows
    offsets: Offsets  # int64 [new rows + 1]
    rows: int  # of the old matrices
    old: Numbering
    new: Numbering
    checkpoint: str  # digest of the model's folder
    seed: int = 0  # of random rows

    @classmethod
    def of_steps(
        cls, steps: Iterable[Step], *, rows: int, old: Numbering, new: Numbering, checkpoint: str, seed: int = 0
    ) -> EmbeddingPlan:
        """Build a plan from one step for each new row."""
        all_steps = list(steps)
        return cls(
            operations=np.array([step[0] for step in all_steps], np.uint8),
            sources=np.array([source for step in all_steps for source in step[1]], np.int64),
            offsets=offsets_of([len(step[1]) for step in all_steps]),
            rows=rows,
            old=old,
            new=new,
            checkpoint=checkpoint,
            seed=seed,
        )

    @classmethod
    def of_json(cls, data: bytes, label: str) -> EmbeddingPlan:
        """Read a file.

        Raises:
            InputError: the file is no plan, or an impossible one.
        """
        content = parse_json(data, label)
        if content.get("format") != FORMAT or content.get("version") != VERSION:
            raise InputError(f"{label} is not a plan of this version: its format is not {FORMAT!r}, {VERSION}")
        try:
            rows = _number(content["checkpoint"]["rows"])
            plan = cls.of_steps(
                (_step(row, rows) for row in content["plan"]),
                rows=rows,
                old=_numbering(content["old"], rows),
                new=_numbering(content["new"], len(content["plan"])),
                checkpoint=_digest(content["checkpoint"]["sha256"]),
                seed=_number(content["seed"], LARGEST_SEED),
            )
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{label} is a damaged plan: {type(error).__name__}: {str(error)[:120]}") from None
        if len(plan) == 0 or content.get("rows") != len(plan):
            raise InputError(f"{label} is a damaged plan: it has {len(plan):,} rows and says {content.get('rows')!r}")
        return plan

    def __len__(self) -> int:
        """Return the number of new rows."""
        return len(self.operations)

    @property
    def counts(self) -> Mapping[Operation, int]:
        """Return the number of new rows by operation."""
        rows = np.bincount(self.operations, minlength=len(Operation)).tolist()
        return {operation: rows[operation] for operation in Operation}

    @property
    def single(self) -> NDArray[np.int64]:
        """Return int64 [new rows]: the old row whose bytes a new row copies; -1 where it is computed."""
        of_one = np.isin(self.operations, _OF_ONE)
        first = np.full(len(self), -1, np.int64)
        first[of_one] = self.sources[self.offsets[:-1][of_one]]
        return first

    @property
    def ids(self) -> IdMap:
        """Return the new id of each old row: of its token, or of the row kept without one. -1 for the other rows.

        Of several new ids, the old one wins, else the first.
        """
        where = np.full(self.rows, -1, np.int64)
        own = np.diff(self.offsets) > (self.operations == Operation.ROW)  # the own row is ROW's second source
        new = np.flatnonzero(own & np.isin(self.operations, _OF_ONE))[::-1]  # the first one wins
        old = self.sources[self.offsets[1:][new] - 1]
        where[old] = new
        where[old[old == new]] = new[old == new]
        return IdMap(where, len(self))

    @property
    def added(self) -> list[int]:
        """Return ids of the new tokenizer without an old row."""
        old = set(self.ids.new.tolist())
        return [token for token in range(self.new.ids) if token not in old]

    @property
    def tokens(self) -> NDArray[np.bool_]:
        """Return bool [old rows]: whether a row has a token, so is neither padding nor a gap."""
        there = np.arange(self.rows) < self.old.ids
        there[list(self.old.gaps)] = False
        return there

    def of_row(self, row: int) -> NDArray[np.int64]:
        """Return the old rows of a new row."""
        return self.sources[self.offsets[row] : self.offsets[row + 1]]

    def as_json(self) -> bytes:
        """Return the content of a file, with a line for each new row."""
        head = {
            "format": FORMAT,
            "version": VERSION,
            "checkpoint": {"sha256": self.checkpoint, "rows": self.rows},
            "old": _tokenizer(self.old),
            "new": _tokenizer(self.new),
            "rows": len(self),
            "seed": self.seed,
            "counts": {operation.name.lower(): count for operation, count in self.counts.items()},
        }
        names = [f'["{operation.name.lower()}"' for operation in Operation]
        sources = [f", {source}" for source in self.sources.tolist()]
        rows = [
            names[operation] + "".join(sources[start:stop]) + "]"
            for operation, (start, stop) in zip(self.operations.tolist(), pairwise(self.offsets.tolist()), strict=True)
        ]
        return (json.dumps(head, indent=1)[:-2] + ',\n "plan": [\n' + ",\n".join(rows) + "\n ]\n}\n").encode()


def _tokenizer(numbering: Numbering) -> dict[str, Any]:
    return {"sha256": numbering.sha256, "ids": numbering.ids, "gaps": list(numbering.gaps)}


def _numbering(about: Mapping[str, Any], rows: int) -> Numbering:
    ids = _number(about["ids"])
    gaps = tuple(_number(gap) for gap in about["gaps"])
    if ids > rows or any(gap >= ids for gap in gaps):
        raise ValueError(f"{ids} ids with {len(gaps)} gaps do not go with {rows} rows")
    return Numbering(ids, gaps, None if about["sha256"] is None else _digest(about["sha256"]))


def _step(row: Any, rows: int) -> Step:
    operation = Operation[row[0].upper()]
    sources = tuple(_number(source) for source in row[1:])
    if any(source >= rows for source in sources) or len(sources) not in _SOURCES.get(operation, (len(sources) or 1,)):
        raise ValueError(f"row {json.dumps(row)[:60]} is not possible with {rows} old rows")
    return operation, sources


def _number(value: Any, most: int = BIGGEST_ID) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{str(value)[:20]!r} is not an id, number of rows or seed")
    return value


def _digest(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
        raise ValueError(f"{str(value)[:20]!r} is not a digest")
    return value
