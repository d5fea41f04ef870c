"""The tensors of a checkpoint with a row for each id: found through the model's class, or named.

The class shows which tensors depend on the number of ids. It is built without weights, and nothing is computed. The
matrices of the vocabulary are the tensors whose shapes change when the configuration has more ids. A model of several
parts may have that number in several places.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyharness.features.adaptation.surgery.rows import rows_of
from pyharness.features.language_models.folder import ModelFolder
from pyharness.features.language_models.loader import refused, require_libraries
from pyharness.features.language_models.weights_file import WIDTHS, StoredTensor, WeightsFile
from pyharness.types import InputError, Unsupported
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID

SIZE = "vocab_size"
Place: TypeAlias = tuple[str, ...]  # keys of the objects around a vocab_size, outermost first; empty: the top level
_DEPTH = 3  # of models within models
_GROWTH = 64  # additional rows of the trial model
_TABLES = ("vocab_size_per_layer_input", "additional_vocab_size")  # of Gemma3n, IDEFICS: rows for some ids only


@dataclass(frozen=True, slots=True)
class VocabularyMatrices:
    """Matrices of the vocabulary. Their shapes in the files are checked, but never used to find them."""

    roles: Mapping[str, int]  # by name in the files; tensors tied by the class share one role
    rows: int  # of each
    places: Sequence[Place]  # of the number of rows in the configuration

    @classmethod
    def of(cls, folder: ModelFolder, names: Sequence[str] = ()) -> VocabularyMatrices:
        """Find the matrices of a model, or take the named ones.

        Raises:
            InputError: no matrices are found, or a name is unknown; one has an unsupported dtype, or a number of rows
                that differs from the others or the configuration.
            Unsupported: no matrices are named, and torch or transformers is not installed.
        """
        tensors = {name: one for path in folder.weights for name, one in WeightsFile.read(path).tensors.items()}
        of_class = None if names else ModelClass(folder).find(tensors)
        roles = {name: role for role, name in enumerate(names)} if of_class is None else of_class.roles
        for name in roles:
            _check(name, tensors)
        rows = {name: rows_of(tensors[name]) for name in roles}
        if of_class is not None:
            rows["config.json"] = of_class.rows
        if len(set(rows.values())) > 1:
            sizes = ", ".join(f"{name} {count:,}" for name, count in rows.items())
            raise InputError(f"language model {folder.name!r}: numbers of rows differ: {sizes}")
        count = next(iter(rows.values()))
        where = _places(folder, names, count, tensors) if of_class is None else of_class.places
        outer = () not in where and folder.config.get(SIZE) == count  # some models repeat it there
        return cls(roles, count, [(), *where] if outer else where)


def _places(folder: ModelFolder, names: Sequence[str], rows: int, files: Iterable[str]) -> Sequence[Place]:
    """Find the rows of named tensors in the configuration; ask the class unless exactly one place fits."""
    equal = [place for place in places(folder.config) if within(folder.config, place)[SIZE] == rows]
    if len([place for place in equal if place] or equal) == 1:
        return equal
    try:
        of_class = ModelClass(folder).find(files, names)
        reason = "the class has another number"
    except (InputError, Unsupported) as error:
        of_class, reason = None, str(error)
    if of_class is not None and of_class.rows == rows:
        return of_class.places
    sizes = {".".join((*place, SIZE)): within(folder.config, place)[SIZE] for place in places(folder.config)}
    keys = ", ".join(f"{key} = {size:,}" for key, size in sizes.items()) or f"no {SIZE}"
    raise InputError(
        f"{names[0]} has {rows:,} rows, and config.json says {keys}: which key to change is unknown ({reason})"
    )


def _check(name: str, tensors: Mapping[str, StoredTensor]) -> None:
    if (tensor := tensors.get(name)) is None:
        near = difflib.get_close_matches(name, tensors, 3, 0.3)
        raise InputError(f"--tensor {name!r} is not in the checkpoint; similar: {', '.join(near) or 'none'}")
    if tensor.dtype not in WIDTHS:
        raise InputError(f"{name} has numbers of {tensor.dtype}; rows can be computed only for {', '.join(WIDTHS)}")
    fits = tensor.numbers * WIDTHS[tensor.dtype] == tensor.size
    if len(tensor.shape) not in (1, 2) or not fits or not tensor.size or rows_of(tensor) > BIGGEST_ID:
        raise InputError(f"{name} has the shape {list(tensor.shape)}: no matrix or vector with a row for each id")


class ModelClass:
    """A model of transformers with the configuration of a folder, on torch's meta device.

    Raises:
        InputError: transformers does not know the class, or refuses the configuration.
        Unsupported: torch or transformers is not installed.
    """

    def __init__(self, folder: ModelFolder) -> None:
        require_libraries()
        self._folder = folder
        self._model = _blank(folder, folder.config)
        self._tensors = _tensors(self._model)
        self._config: Mapping[str, Any] = self._model.config.to_dict()  # with the class's defaults
        sizes = {place: self._followers(place) for place in places(self._config)}
        self._following = {place: names for place, names in sizes.items() if names}

    def find(self, files: Iterable[str], named: Collection[str] = ()) -> VocabularyMatrices:
        """Find the matrices of the vocabulary, or the place of the named ones.

        Raises:
            InputError: the class has no vocabulary, or several; the files lack a matrix; other tensors depend on the
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
        weights = {id(one) for one in self._model.parameters()}  # buffers are recomputed where files lack them
        absent = [name for one, name in following.items() if one in weights and roles[one] not in in_files.values()]
        if absent:
            raise self._error(f"its files lack {absent[0]}, which has a row for each id")
        if unnamed := sorted(set(in_files) - set(named or in_files)):
            raise self._error(f"{unnamed[0]} follows the number of ids, too; name it with --tensor as well")
        if other := sorted(set(named) - set(in_files)):
            raise self._error(f"{other[0]} does not follow {'.'.join((*where[0], SIZE))}, as the others do")
        return VocabularyMatrices(in_files, int(within(self._config, where[0])[SIZE]), where)

    def _places(self, named: Sequence[Any]) -> list[Place]:
        """Return the places of the vocabulary of the input embedding, or of named tensors."""
        wanted = named or _embedding(self._model)
        where = [
            place for place, names in self._following.items()
            if not wanted or any(self._tensors[name] is one for name in names for one in wanted)
        ]  # fmt: skip
        if not where:
            raise self._error(f"{SIZE} in config.json is not what sets its rows; name them with --tensor")
        if not wanted and len(where) > 1:
            keys = ", ".join(".".join((*place, SIZE)) for place in where)
            raise self._error(f"it has no embedding of ids of its own, and {keys}; name the matrices with --tensor")
        return where

    def _check_tables(self, where: Sequence[Place]) -> None:
        """Refuse models whose ids belong to several vocabularies, or have rows in another table."""
        following = {id(self._tensors[name]) for place in where for name in self._following[place]}
        parts = [getattr(self._model.get_output_embeddings(), name, None) for name in ("weight", "bias")]
        if any(part is not None and id(part) not in following for part in parts):
            raise self._error("its input and output have vocabularies of their own; name the matrices with --tensor")
        for place in where:
            if tables := [key for key in _TABLES if within(self._config, place).get(key)]:
                raise self._error(f"it has a second table of ids, {tables[0]}; name what is to follow with --tensor")

    def _followers(self, place: Place) -> list[str]:
        """Return names of the tensors that get more rows with more ids at a place."""
        try:
            rows = int(within(self._config, place)[SIZE]) + _GROWTH
            grown = _tensors(_blank(self._folder, with_rows(self._folder.config, (place,), rows)))
        except InputError:  # for example, another number in the configuration must fit the vocabulary's size
            return []
        pairs = {
            name: (tuple(one.shape), tuple(grown[name].shape)) for name, one in self._tensors.items() if name in grown
        }
        changed = {name: shapes for name, shapes in pairs.items() if shapes[0] != shapes[1]}
        for name, (before, after) in changed.items():
            first = 1 if before[:1] == (1,) and len(before) == 2 else 0  # one row, with a number for each id
            if after != (*before[:first], before[first] + _GROWTH, *before[first + 1 :]):
                raise self._error(f"{name} follows the number of ids, but not by rows; name the others with --tensor")
        return list(changed)

    def _names_in_model(self, files: Iterable[str]) -> dict[str, str]:
        """Map names in files to names in the model: with or without the body's prefix, or as in older files."""
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
    os.environ["USE_HUB_KERNELS"] = "NO"  # read at the import of transformers: kernels of the Hub are code, too
    import torch
    import transformers

    named, kind = config.get("architectures"), config.get("model_type")
    name = named[0] if isinstance(named, list) and named and isinstance(named[0], str) else ""
    model_class: Any = getattr(transformers, name, None) if name.isidentifier() else None
    is_model = isinstance(model_class, type) and issubclass(model_class, transformers.PreTrainedModel)
    if not is_model or getattr(model_class.config_class, "model_type", None) != kind:
        own_code = ", and the model's own code is never run" if "auto_map" in config else ""
        raise InputError(
            f"language model {folder.name!r}: transformers has no class {name[:60]!r} of model_type {str(kind)[:60]!r}"
            f"{own_code}; name its matrices with --tensor"
        )
    # Before 5.0, transformers computed values even without memory: some classes count positions one by one.
    valueless: Any = getattr(transformers.modeling_utils, "no_init_weights", None)
    try:
        with torch.device("meta"), valueless() if valueless else nullcontext():
            settings = model_class.config_class.from_dict(dict(config))
            model = model_class._from_config(settings, attn_implementation="eager")
        if valueless:
            model.tie_weights()  # skipped together with the values
        return model
    except Exception as error:  # for a broken configuration, the class may raise anything
        raise refused(folder, error) from None


def _embedding(model: Any) -> list[Any]:
    """Return the class's input embedding; empty where it has no method for it, or returns that of images."""
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


def places(config: Mapping[str, Any], place: Place = ()) -> Iterator[Place]:
    """Yield the places with a vocabulary size, outer ones first."""
    if type(config.get(SIZE)) is int:
        yield place
    if len(place) < _DEPTH:
        for key, value in config.items():
            if isinstance(value, dict):
                yield from places(value, (*place, key))


def within(config: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
    """Return the object at a place; an empty one where it is absent."""
    for key in place:
        inner = config.get(key)
        config = inner if isinstance(inner, dict) else {}
    return config


def with_rows(config: Mapping[str, Any], where: Iterable[Place], rows: int) -> dict[str, Any]:
    """Return a configuration with ``rows`` ids at these places."""
    changed = dict(config)
    for place in where:
        if not place:
            changed[SIZE] = rows
        else:
            inner = within(changed, place[:1])
            changed[place[0]] = with_rows(inner, (place[1:],), rows)
    return changed


def others(config: Mapping[str, Any], where: Iterable[Place]) -> set[str]:
    """Return keys of inner configurations that hold none of these places, such as those of images or sounds."""
    around = {place[:end] for place in where for end in range(len(place) + 1)} | {()}
    inner = {
        (*place, key) for place in around for key, value in within(config, place).items() if isinstance(value, dict)
    }
    return {place[-1] for place in inner - around}


def written(content: Mapping[str, Any]) -> bytes:
    """Return JSON in the layout of transformers; the keys keep their order."""
    return (json.dumps(content, indent=2) + "\n").encode()
