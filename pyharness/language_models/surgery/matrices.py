"""The tensors of a checkpoint that have a row for each id: found through the class of the model, or named."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyharness.language_models.folder import ModelFolder
from pyharness.language_models.surgery.model_class import ModelClass
from pyharness.language_models.surgery.numbers import WIDTHS
from pyharness.language_models.weights_file import StoredTensor, WeightsFile
from pyharness.types import InputError
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID


@dataclass(frozen=True, slots=True)
class VocabularyMatrices:
    """Matrices of the vocabulary. Their shapes are checked, and were never what they were found by."""

    roles: Mapping[str, int]  # by the name in the files; what is tied has one role
    rows: int  # of each

    @classmethod
    def of(cls, folder: ModelFolder, names: Sequence[str] = ()) -> VocabularyMatrices:
        """Find the matrices of a model, or take those that are named.

        Raises:
            InputError: they are not found, or a name is none; one has numbers that cannot be computed with, or other
                rows than the rest or the configuration.
        """
        tensors = {name: one for path in folder.weights for name, one in WeightsFile.read(path).tensors.items()}
        known = None if names else ModelClass(folder)
        roles = {name: role for role, name in enumerate(names)} if known is None else known.roles(tensors)
        for name in roles:
            _check(name, tensors)
        rows = {name: tensors[name].shape[0] for name in roles}
        if known is not None:
            rows["config.json"] = known.rows
        if len(set(rows.values())) > 1:
            said = ", ".join(f"{name} {count:,}" for name, count in rows.items())
            raise InputError(f"language model {folder.name!r}: numbers of rows differ: {said}")
        return cls(roles, next(iter(rows.values())))


def _check(name: str, tensors: Mapping[str, StoredTensor]) -> None:
    if (tensor := tensors.get(name)) is None:
        near = difflib.get_close_matches(name, tensors, 3, 0.3)
        raise InputError(f"--tensor {name!r} is no tensor of the checkpoint; near it are {', '.join(near) or 'none'}")
    if tensor.dtype not in WIDTHS:
        raise InputError(f"{name} has numbers of {tensor.dtype}; rows can be computed of {', '.join(WIDTHS)}")
    fits = tensor.numbers * WIDTHS[tensor.dtype] == tensor.size
    if len(tensor.shape) not in (1, 2) or not fits or not tensor.size or tensor.shape[0] > BIGGEST_ID:
        raise InputError(f"{name} has the shape {list(tensor.shape)}: no matrix or vector with a row for each id")
