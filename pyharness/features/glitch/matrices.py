"""The matrices of a checkpoint with a row for each id, read a block at a time: memory does not grow with them.

Neither torch nor the model's class is needed: tensors are found by the names that published models give them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.features.language_models.folder import ModelFolder
from pyharness.features.language_models.weights_file import WIDTHS, StoredTensor, WeightsFile, to_float64
from pyharness.types import InputError
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID

INPUTS = ("embed_tokens", "wte", "word_embeddings", "embed_in", "tok_embeddings", "embeddings")
OUTPUTS = ("lm_head", "embed_out", "output", "ff_out")
BLOCK = 4 << 20  # bytes of float64 at a time
MOST_COLUMNS = 1 << 15  # published models have at most 2^14
_NAMED, _SHOWN = 6, 80  # tensors in a message, characters of each


@dataclass(frozen=True, slots=True)
class IdMatrix:
    """A stored matrix, [ids, width]."""

    path: Path
    tensor: StoredTensor

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.tensor.shape[0]

    @property
    def _row_bytes(self) -> int:
        return self.tensor.size // self.rows

    def blocks(self) -> Iterator[NDArray[np.float64]]:
        """Yield all rows in order, float64 [rows of the block, width].

        Raises:
            InputError: the file has become shorter, or a number is not finite.
        """
        count = max(BLOCK // (8 * self.tensor.shape[1]), 1)
        for first in range(0, self.rows, count):
            yield self._numbers(first, min(count, self.rows - first))

    def take(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return some rows, float64 [len(rows), width]. Raises ``InputError`` as ``blocks``."""
        return np.concatenate([self._numbers(row, 1) for row in rows.tolist()])

    def digest(self) -> str:
        """Return the SHA-256 of the numbers as float64, in hexadecimal."""
        total = hashlib.sha256()
        for block in self.blocks():
            total.update(block.tobytes())
        return total.hexdigest()

    def same(self, other: IdMatrix) -> bool:
        """Tell whether two matrices have the same numbers."""
        about, others = ((one.dtype, one.shape, one.size) for one in (self.tensor, other.tensor))
        if about != others:
            return False
        return all(np.array_equal(*pair) for pair in zip(self.blocks(), other.blocks(), strict=True))

    def _numbers(self, first: int, count: int) -> NDArray[np.float64]:
        with self.path.open("rb") as file:
            file.seek(self.tensor.start + first * self._row_bytes)
            data = file.read(count * self._row_bytes)
        if len(data) < count * self._row_bytes:
            raise InputError(f"the file of {self.tensor.name} has become shorter while it was read")
        numbers = to_float64(np.frombuffer(data, np.uint8).reshape(count, -1), self.tensor.dtype)
        if not (finite := np.isfinite(numbers).all(axis=1)).all():
            row = first + int(np.argmin(finite))
            raise InputError(f"{self.path}: row {row} of {self.tensor.name} has numbers that are not finite")
        return numbers


@dataclass(frozen=True, slots=True)
class IdMatrices:
    """The input embedding of a checkpoint, and whether the output embedding is the same matrix."""

    entry: IdMatrix
    tied: bool

    @classmethod
    def of(cls, folder: ModelFolder, ids: int, named: str = "") -> IdMatrices:
        """Find the matrix of a model of ``ids`` ids; ``named``: its name, if it is unusual.

        A model that stores two is tied if they are the same: transformers does not tie others, whatever the
        configuration says. One that stores one is tied unless ``tie_word_embeddings`` is false.

        Raises:
            InputError: there is no such tensor or more than one, or it has no shape or dtype of an embedding.
        """
        stored = {name: IdMatrix(path, tensor) for path in folder.weights
                  for name, tensor in WeightsFile.read(path).tensors.items()}  # fmt: skip
        wide = {name: one for name, one in stored.items() if len(one.tensor.shape) == 2 and one.rows >= ids}
        entry = _entry(folder, wide, ids, named)
        _check(entry, ids)
        outputs = [one for name, one in wide.items() if _part(name) in OUTPUTS and one != entry]
        if not outputs:
            return cls(entry, _ties(folder.config) is not False)
        return cls(entry, any(entry.same(one) for one in outputs))


def _entry(folder: ModelFolder, wide: Mapping[str, IdMatrix], ids: int, named: str) -> IdMatrix:
    usual = [name for name in wide if _part(name) in INPUTS]
    names = [name for name in wide if name == named] if named else usual
    if len(names) == 1:
        return wide[names[0]]
    matrices = ", ".join(name[:_SHOWN] for name in sorted(wide)[:_NAMED]) or "nothing"
    what = f"no tensor {named[:_SHOWN]!r}" if named else f"{len(usual)} tensors with the name of an input embedding"
    raise InputError(
        f"language model {folder.name!r} has {what} and {ids:,} rows or more; with so many rows it has {matrices}; "
        "write tensor=NAME, or name the model of this tokenizer"
    )


def _check(matrix: IdMatrix, ids: int) -> None:
    """Refuse what is no matrix of numbers that can be read."""
    tensor, name = matrix.tensor, repr(matrix.tensor.name[:_SHOWN])
    width = WIDTHS.get(tensor.dtype)
    if width is None:
        raise InputError(f"{name} is of dtype {tensor.dtype[:20]!r}; known: {', '.join(WIDTHS)}")
    if tensor.size != tensor.numbers * width or not 0 < ids <= matrix.rows <= BIGGEST_ID + 1:
        raise InputError(f"{matrix.path} is broken: {name} does not have the bytes of its shape")
    if not 0 < tensor.shape[1] <= MOST_COLUMNS:
        raise InputError(f"{name} has {tensor.shape[1]:,} columns; from 1 to {MOST_COLUMNS:,} are read")


def _part(name: str) -> str:
    """Return the module of a weight: of ``model.embed_tokens.weight``, ``embed_tokens``."""
    parts = name.split(".")
    return parts[-2] if parts[-1] == "weight" and len(parts) > 1 else ""


def _ties(config: Mapping[str, Any]) -> bool | None:
    """Return what the configuration says of tied matrices, here or of its text model; None: nothing."""
    inner = config.get("text_config")
    for one in (config, inner if isinstance(inner, dict) else {}):
        if isinstance(tied := one.get("tie_word_embeddings"), bool):
            return tied
    return None
