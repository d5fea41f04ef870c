"""What the class of a model says of its tensors: it is built without weights, and nothing of it is computed.

The matrices of a vocabulary are the tensors that have other shapes once the configuration says that there are more ids.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from pyharness.features.adaptation.surgery.configuration import SIZE, Place, places, with_rows, within
from pyharness.language_models.folder import ModelFolder
from pyharness.language_models.loading import refused, require_libraries
from pyharness.types import InputError

_GROWTH = 64  # rows that a model is tried with beyond those that it has
_TABLES = ("vocab_size_per_layer_input", "additional_vocab_size")  # of Gemma3n, IDEFICS: rows of ids, but not of all


@dataclass(frozen=True, slots=True)
class Found:
    """Matrices of one vocabulary."""

    roles: Mapping[str, int]  # by the name in the files; what is tied has one role
    places: Sequence[Place]  # where the configuration has their number of rows
    rows: int


class ModelClass:
    """A model of transformers with the configuration of a folder, on torch's meta device.

    Raises:
        InputError: transformers does not know the class, or refuses the configuration.
    """

    def __init__(self, folder: ModelFolder) -> None:
        require_libraries()
        self._folder = folder
        self._model = _blank(folder, folder.config)
        self._tensors = _tensors(self._model)
        self._config: Mapping[str, Any] = self._model.config.to_dict()  # with what the file leaves to the class
        sizes = {place: self._followers(place) for place in places(self._config)}
        self._following = {place: names for place, names in sizes.items() if names}

    def find(self, files: Iterable[str], named: Collection[str] = ()) -> Found:
        """Find the matrices of the vocabulary, or the place of those that are named.

        Raises:
            InputError: the class has none, or several vocabularies; the files lack a matrix; others follow their
                number of rows in another way, or are not named.
        """
        names = self._names_in_model(files)
        where = self._places(
            [self._tensors[name] for file, name in names.items() if file in named and name in self._tensors]
        )
        if not named:
            self._check_tables(where)
        following = {id(self._tensors[name]): name for place in where for name in self._following[place]}
        roles = {tensor: role for role, tensor in enumerate(following)}
        in_files = {
            file: roles[id(self._tensors[name])] for file, name in names.items()
            if id(self._tensors.get(name)) in following
        }  # fmt: skip
        weights = {id(one) for one in self._model.parameters()}  # buffers are filled anew where files lack them
        absent = [name for one, name in following.items() if one in weights and roles[one] not in in_files.values()]
        if absent:
            raise self._error(f"its files lack {absent[0]}, which has a row for each id")
        if unnamed := sorted(set(in_files) - set(named or in_files)):
            raise self._error(f"{unnamed[0]} follows the number of ids, too; name it with --tensor as well")
        if other := sorted(set(named) - set(in_files)):
            raise self._error(f"{other[0]} does not follow {'.'.join((*where[0], SIZE))}, as the others do")
        return Found(in_files, where, int(within(self._config, where[0])[SIZE]))

    def _places(self, named: Sequence[Any]) -> list[Place]:
        """Where the vocabulary of the input embedding stands, or that of tensors that are named."""
        wanted = named or _embedding(self._model)
        where = [
            place for place, names in self._following.items()
            if not wanted or any(self._tensors[name] is one for name in names for one in wanted)
        ]  # fmt: skip
        if not where:
            raise self._error(f"{SIZE} in config.json is not what sets its rows; name them with --tensor")
        if not wanted and len(where) > 1:
            said = ", ".join(".".join((*place, SIZE)) for place in where)
            raise self._error(f"it has no embedding of ids of its own, and {said}; name the matrices with --tensor")
        return where

    def _check_tables(self, where: Sequence[Place]) -> None:
        """Refuse models whose ids are of more than one vocabulary, or have rows of another table."""
        following = {id(self._tensors[name]) for place in where for name in self._following[place]}
        parts = [getattr(self._model.get_output_embeddings(), name, None) for name in ("weight", "bias")]
        if any(part is not None and id(part) not in following for part in parts):
            raise self._error("its input and output have vocabularies of their own; name the matrices with --tensor")
        for place in where:
            if tables := [key for key in _TABLES if within(self._config, place).get(key)]:
                raise self._error(f"it has a second table of ids, {tables[0]}; name what is to follow with --tensor")

    def _followers(self, place: Place) -> list[str]:
        """Names of the tensors that have more rows with more ids at a place."""
        try:
            rows = int(within(self._config, place)[SIZE]) + _GROWTH
            grown = _tensors(_blank(self._folder, with_rows(self._folder.config, (place,), rows)))
        except InputError:  # such as a vocabulary within whose size another number repeats
            return []
        pairs = {
            name: (tuple(one.shape), tuple(grown[name].shape)) for name, one in self._tensors.items() if name in grown
        }
        changed = {name: shapes for name, shapes in pairs.items() if shapes[0] != shapes[1]}
        for name, (before, after) in changed.items():
            first = 1 if before[:1] == (1,) and len(before) == 2 else 0  # a row with a number for each id
            if after != (*before[:first], before[first] + _GROWTH, *before[first + 1 :]):
                raise self._error(f"{name} follows the number of ids, but not by rows; name the others with --tensor")
        return list(changed)

    def _names_in_model(self, files: Iterable[str]) -> dict[str, str]:
        """Name in the model of each name in files: with or without the prefix of the body, or as older files had it."""
        state, prefix = self._model.state_dict(), self._model.base_model_prefix
        try:
            from transformers.conversion_mapping import get_model_conversion_mapping
            from transformers.core_model_loading import WeightConverter, rename_source_key
        except ImportError:  # before 5.0
            return {file: _with_prefix(file, prefix, state) for file in files}
        steps: list[Any] = get_model_conversion_mapping(self._model)
        converters = [step for step in steps if isinstance(step, WeightConverter)]
        renamings = [step for step in steps if not isinstance(step, WeightConverter)]
        return {file: rename_source_key(file, renamings, converters, prefix, state)[0] for file in files}

    def _error(self, what: str) -> InputError:
        return InputError(f"language model {self._folder.name!r} ({type(self._model).__name__}): {what}")


def _blank(folder: ModelFolder, config: Mapping[str, Any]) -> Any:
    os.environ["USE_HUB_KERNELS"] = "NO"  # read when transformers is imported: kernels of the Hub are code, too
    import torch
    import transformers

    named, kind = config.get("architectures"), config.get("model_type")
    name = named[0] if isinstance(named, list) and named and isinstance(named[0], str) else ""
    found: Any = getattr(transformers, name, None) if name.isidentifier() else None
    known = isinstance(found, type) and issubclass(found, transformers.PreTrainedModel)
    if not known or getattr(found.config_class, "model_type", None) != kind:
        own_code = ", and code that it brings along is never run" if "auto_map" in config else ""
        raise InputError(
            f"language model {folder.name!r}: transformers has no class {name[:60]!r} of model_type {str(kind)[:60]!r}"
            f"{own_code}; name its matrices with --tensor"
        )
    # Before 5.0, values were computed for what has no memory, too: some classes count positions one by one.
    valueless: Any = getattr(transformers.modeling_utils, "no_init_weights", None)
    try:
        with torch.device("meta"), valueless() if valueless else nullcontext():
            settings = found.config_class.from_dict(dict(config))
            model = found._from_config(settings, attn_implementation="eager")
        if valueless:
            model.tie_weights()  # left out with the values
        return model
    except Exception as error:  # a broken configuration raises whatever its class raises
        raise refused(folder, error) from None


def _embedding(model: Any) -> list[Any]:
    """Matrix of the input embedding, as the class gives it; none where it has no way to, or gives that of an image."""
    from torch import nn

    try:
        embedding = model.get_input_embeddings()
    except (NotImplementedError, AttributeError):
        return []
    return [embedding.weight] if isinstance(embedding, nn.Embedding) else []


def _tensors(model: Any) -> dict[str, Any]:
    return dict((*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)))


def _with_prefix(file: str, prefix: str, state: Mapping[str, Any]) -> str:
    if file not in state and f"{prefix}.{file}" in state:
        return f"{prefix}.{file}"
    bare = file.removeprefix(f"{prefix}.")
    return bare if file not in state and bare in state else file
