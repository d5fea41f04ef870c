"""What the class of a model says of its tensors: it is built without weights, and nothing of it is computed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from pyharness.language_models.folder import ModelFolder
from pyharness.language_models.loading import refused, require_libraries
from pyharness.language_models.surgery.named_ids import with_rows
from pyharness.types import InputError

ROLES = ("input embedding", "output embedding", "bias of the output embedding")
_GROWTH = 64  # rows that a model is tried with beyond those that it has


class ModelClass:
    """A model of transformers with the configuration of a folder, on torch's meta device.

    Raises:
        InputError: transformers does not know the class, or refuses the configuration.
    """

    def __init__(self, folder: ModelFolder) -> None:
        require_libraries()
        self._folder = folder
        self._model = _blank(folder, folder.config)
        self._named = _tensors(self._model)
        self._parts = _parts(self._model)
        if not self._parts:
            raise InputError(f"language model {folder.name!r}: {type(self._model).__name__} has no embedding of ids")

    def roles(self, files: Iterable[str]) -> dict[str, int]:
        """Roles of the names in files that are matrices of the vocabulary; what is tied has one role.

        Raises:
            InputError: the files lack one, or have another tensor that the class gives a row for each id.
        """
        names = self._names_in_model(files)
        roles = {
            file: role for file, name in names.items() for role, part in self._parts.items()
            if self._named.get(name) is part
        }  # fmt: skip
        if absent := sorted(set(self._parts) - set(roles.values())):
            raise self._error(f"no tensor of its files is the {ROLES[absent[0]]}; name them with --tensor")
        self._check_others({file: name for file, name in names.items() if file not in roles})
        return roles

    @property
    def rows(self) -> int:
        """Rows of the input embedding."""
        return int(self._parts[0].shape[0])

    def _check_others(self, names: Mapping[str, str]) -> None:
        """Refuse what would have other shapes with more ids, and the vocabulary that would not."""
        grown = _blank(self._folder, with_rows(self._folder.config, self.rows + _GROWTH))
        if int(_parts(grown)[0].shape[0]) != self.rows + _GROWTH:
            raise self._error("vocab_size in config.json is not what sets its rows; name them with --tensor")
        after = _tensors(grown)
        for file, name in names.items():
            if name in after and name in self._named and after[name].shape != self._named[name].shape:
                raise self._error(f"{file} follows the number of ids, too; name all that do with --tensor")

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
    try:
        with torch.device("meta"):
            settings = found.config_class.from_dict(dict(config))
            return found._from_config(settings, attn_implementation="eager")
    except Exception as error:  # a broken configuration raises whatever its class raises
        raise refused(folder, error) from None


def _parts(model: Any) -> dict[int, Any]:
    """Matrices and bias of the vocabulary by role, each tensor once."""
    embedding, head = model.get_input_embeddings(), model.get_output_embeddings()
    found = (getattr(embedding, "weight", None), getattr(head, "weight", None), getattr(head, "bias", None))
    return {
        role: part for role, part in enumerate(found)
        if part is not None and not any(part is earlier for earlier in found[:role])
    }  # fmt: skip


def _tensors(model: Any) -> dict[str, Any]:
    return dict((*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)))


def _with_prefix(file: str, prefix: str, state: Mapping[str, Any]) -> str:
    if file not in state and f"{prefix}.{file}" in state:
        return f"{prefix}.{file}"
    bare = file.removeprefix(f"{prefix}.")
    return bare if file not in state and bare in state else file
