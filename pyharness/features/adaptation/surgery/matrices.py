"""The tensors of a checkpoint that have a row for each id: found through the class of the model, or named."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyharness.features.adaptation.surgery.configuration import SIZE, Place, places, within
from pyharness.features.adaptation.surgery.model_class import ModelClass
from pyharness.features.adaptation.surgery.numbers import WIDTHS
from pyharness.features.adaptation.surgery.rows import rows_of
from pyharness.language_models.folder import ModelFolder
from pyharness.language_models.weights_file import StoredTensor, WeightsFile
from pyharness.types import InputError, Unsupported
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID


@dataclass(frozen=True, slots=True)
class VocabularyMatrices:
    """Matrices of the vocabulary. Their shapes are checked, and were never what they were found by."""

    roles: Mapping[str, int]  # by the name in the files; what is tied has one role
    rows: int  # of each
    places: Sequence[Place]  # of that number in the configuration

    @classmethod
    def of(cls, folder: ModelFolder, names: Sequence[str] = ()) -> VocabularyMatrices:
        """Find the matrices of a model, or take those that are named.

        Raises:
            InputError: they are not found, or a name is none; one has numbers that cannot be computed with, or other
                rows than the rest or the configuration.
        """
        tensors = {name: one for path in folder.weights for name, one in WeightsFile.read(path).tensors.items()}
        known = None if names else ModelClass(folder).find(tensors)
        roles = {name: role for role, name in enumerate(names)} if known is None else known.roles
        for name in roles:
            _check(name, tensors)
        rows = {name: rows_of(tensors[name]) for name in roles}
        if known is not None:
            rows["config.json"] = known.rows
        if len(set(rows.values())) > 1:
            said = ", ".join(f"{name} {count:,}" for name, count in rows.items())
            raise InputError(f"language model {folder.name!r}: numbers of rows differ: {said}")
        count = next(iter(rows.values()))
        where = _places(folder, names, count, tensors) if known is None else known.places
        outer = () not in where and folder.config.get(SIZE) == count  # some say it there, too
        return cls(roles, count, [(), *where] if outer else where)


def _places(folder: ModelFolder, names: Sequence[str], rows: int, files: Iterable[str]) -> Sequence[Place]:
    """Where the configuration has the rows of named tensors; if that could be several places, the class has to know."""
    equal = [place for place in places(folder.config) if within(folder.config, place)[SIZE] == rows]
    if len([place for place in equal if place] or equal) == 1:
        return equal
    try:
        known = ModelClass(folder).find(files, names)
        reason = "the class has another number"
    except (InputError, Unsupported) as error:
        known, reason = None, str(error)
    if known is not None and known.rows == rows:
        return known.places
    sizes = {".".join((*place, SIZE)): within(folder.config, place)[SIZE] for place in places(folder.config)}
    said = ", ".join(f"{key} = {size:,}" for key, size in sizes.items()) or f"no {SIZE}"
    raise InputError(
        f"{names[0]} has {rows:,} rows, and config.json says {said}: where it has to follow cannot be told ({reason})"
    )


def _check(name: str, tensors: Mapping[str, StoredTensor]) -> None:
    if (tensor := tensors.get(name)) is None:
        near = difflib.get_close_matches(name, tensors, 3, 0.3)
        raise InputError(f"--tensor {name!r} is no tensor of the checkpoint; near it are {', '.join(near) or 'none'}")
    if tensor.dtype not in WIDTHS:
        raise InputError(f"{name} has numbers of {tensor.dtype}; rows can be computed of {', '.join(WIDTHS)}")
    fits = tensor.numbers * WIDTHS[tensor.dtype] == tensor.size
    if len(tensor.shape) not in (1, 2) or not fits or not tensor.size or rows_of(tensor) > BIGGEST_ID:
        raise InputError(f"{name} has the shape {list(tensor.shape)}: no matrix or vector with a row for each id")
