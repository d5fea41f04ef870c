"""Finds a language model in a folder, in the Hub's cache, or on the Hub, and reads the facts in its files.

It reads weights only to hash them, and runs no code.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyharness.features.language_models.weights_file import WeightsFile
from pyharness.system import folders, hub, network
from pyharness.types import InputError
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.json_file import parse_json

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
INDEX = f"{WEIGHTS}.index.json"
_LAYERS = re.compile(r"(?:^|_)(?:layers?|blocks|depth)$")  # n_layer, encoder_layers, num_decoder_layers, ...
_EXPERTS = re.compile(r"(?:^|_)experts$")  # n_routed_experts, num_local_experts, ...
_MOST_EXPERTS = 4096  # of a layer; they may all be in one tensor
_DEPTH = 3  # of models within models
_SHARD = re.compile(r"[\w.-]+\.safetensors", re.ASCII)  # in the index's own folder, nowhere else
_BLOCK = 4 << 20  # bytes that are read at a time
_DIGESTS: dict[tuple[tuple[Path, ...], tuple[int, ...]], str] = {}  # by files and times of change: hashing is slow
_RANKS = "shard-*-model-*.safetensors"  # of torch's distributed checkpoints, which transformers prefers
_REFUSED = {
    "quantization_config": "is quantised: what it computes in is not the dtype asked for, and code may be fetched for "
    "it; save it dequantised",
    "transformers_weights": f"names weights other than {WEIGHTS}; save it with save_pretrained()",
}


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder with ``config.json`` and safetensors weights."""

    name: str  # as the user wrote it
    path: Path
    config: Mapping[str, Any]
    weights: tuple[Path, ...]

    @classmethod
    def read(cls, name: str, path: Path) -> ModelFolder:
        """Read and check a folder. Raise ``InputError`` if it is incomplete or cannot be loaded safely."""
        if not (path / CONFIG).is_file():
            raise InputError(f"language model {name!r}: {path} has no {CONFIG}; name a folder of save_pretrained()")
        if (path / "adapter_config.json").exists():
            raise InputError(f"language model {name!r} is an adapter of another model; merge it and save the whole")
        config = parse_json(vocabulary_file.read(path / CONFIG), str(path / CONFIG))
        for key, reason in _REFUSED.items():
            if any(part.get(key) is not None for part in _parts(config)):
                raise InputError(f"language model {name!r} {reason}")
        return cls(name, path, config, _weights(name, path))

    def parameters(self) -> int:
        """Count of the numbers in the weights, from the headers of their files."""
        return sum(tensor.numbers for path in self.weights for tensor in WeightsFile.read(path).tensors.values())

    def check_layers(self) -> None:
        """Refuse more layers or experts than the tensors allow: to build them without weights could take forever.

        Raises:
            InputError: there are more.
        """
        tensors = sum(len(WeightsFile.read(path).tensors) for path in self.weights)
        for part in _parts(self.config):
            for key, value in part.items():
                most = tensors if _LAYERS.search(key) else max(tensors, _MOST_EXPERTS) if _EXPERTS.search(key) else None
                if most is not None and isinstance(value, int) and value > most:
                    raise InputError(f"language model {self.name!r}: {key} = {value:,}, but {tensors:,} tensors")

    def digest(self, report: Callable[[int], None] = lambda _: None) -> str:
        """Return the SHA-256 of configuration and weights, a model's name in records.

        ``report`` gets the bytes read so far; it is not called for files that were hashed before.
        """
        files = (self.path / CONFIG, *self.weights)
        version = (files, tuple(file.stat().st_mtime_ns for file in files))
        if version not in _DIGESTS:
            _DIGESTS[version] = _digest(files, report)
        return _DIGESTS[version]

    def size(self) -> int:
        """Bytes of the files that the digest covers."""
        return sum(file.stat().st_size for file in (self.path / CONFIG, *self.weights))


def holds_model(path: Path) -> bool:
    """Tell whether a folder has weights, or their index, and the configuration: not only a tokenizer."""
    return (path / CONFIG).is_file() and ((path / WEIGHTS).is_file() or (path / INDEX).is_file())


def listed(path: Path) -> tuple[Path, ...]:
    """Return the files that should hold the weights.

    Raises:
        InputError: the index of the weights is broken.
    """
    if (path / WEIGHTS).is_file() or not (path / INDEX).is_file():
        return (path / WEIGHTS,)
    by_tensor = parse_json(vocabulary_file.read(path / INDEX), str(path / INDEX)).get("weight_map")
    names = list(by_tensor.values()) if isinstance(by_tensor, dict) else []
    if not names or not all(isinstance(name, str) and _SHARD.fullmatch(name) for name in names):
        raise InputError(f"{path / INDEX} is broken: its weight_map does not name safetensors files next to it")
    return tuple(path / name for name in sorted(set(names)))


def _parts(config: Mapping[str, Any], depth: int = _DEPTH) -> Iterator[Mapping[str, Any]]:
    """Yield the configuration and those of the models within it (text, images)."""
    yield config
    for value in config.values() if depth else ():
        if isinstance(value, dict):
            yield from _parts(value, depth - 1)


def _weights(name: str, path: Path) -> tuple[Path, ...]:
    files = listed(path)
    if any(path.glob(_RANKS)):
        raise InputError(f"language model {name!r} is a distributed checkpoint; save it with save_pretrained()")
    if not (absent := [file.name for file in files if not file.is_file()]):
        return files
    advice = "fetch it again, or save it with save_pretrained()"
    if pickled := ", ".join(sorted(file.name for file in path.glob("*.bin"))):
        advice = f"{path} has {pickled}, but pickles can run code: save it with save_pretrained(), as safetensors"
    raise InputError(f"language model {name!r} lacks {absent[0]}: {advice}")


def _digest(files: tuple[Path, ...], report: Callable[[int], None]) -> str:
    """Return the SHA-256 over the digests of all files."""
    total, size = hashlib.sha256(), 0
    for path in files:
        one = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                one.update(block)
                size += len(block)
                report(size)
        total.update(one.digest())
    return total.hexdigest()


DOWNLOADED = ["*.json", "*.safetensors", "tokenizer.model", "*.tiktoken"]
NOT_DOWNLOADED = ["*/*", "consolidated*"]  # the same weights for other programs


def find(name: str) -> ModelFolder | None:
    """Read a folder, or the local cache of a Hub repository; return None if it must be downloaded first.

    Raises:
        InputError: there is no such folder, and the name is none of the Hub; or as :meth:`ModelFolder.read`.
    """
    try:
        path = folders.expanded(name)
        if path.is_dir():
            return ModelFolder.read(name, path)
        if path.exists():
            raise InputError(f"language model {name!r} is a file; name the folder it is in")
    except (OSError, RuntimeError) as error:  # no permission, too long a name, ~ of an unknown user
        raise InputError(f"cannot look for language model {name[:200]!r}: {error}") from None
    if name.startswith(("/", ".", "~")) or not hub.SHAPE.fullmatch(name) or ".." in name:
        raise InputError(f"no language model {name!r}: neither a folder nor ORGANISATION/NAME[@revision] of the Hub")
    repository, _, revision = name.partition("@")
    cached = hub.find(repository, revision or "main", CONFIG)
    # A snapshot may hold the tokenizer alone, or the rest of a broken download.
    if cached is None or not all(file.is_file() for file in listed(cached.parent)):
        return None
    return ModelFolder.read(name, cached.parent)


def check(name: str) -> None:
    """Raise ``InputError`` for a model that is not on this machine, if the Hub is off or cannot be reached.

    Whether the Hub has the model shows only in the download. Other names are refused as by :func:`find`.
    """
    if find(name) is not None:
        return
    if variable := hub.switched_off("HF_HUB_OFFLINE"):
        raise InputError(f"{_missing(name)} and {variable} is set; {_advice(name)}")
    if host := network.unreachable(hub.endpoint()):
        raise InputError(f"{_missing(name)} and {host} cannot be reached; {_advice(name)}")


def obtain(name: str) -> ModelFolder:
    """Find a model, or download its safetensors, JSON and tokenizer files into the Hub's cache.

    Raises:
        InputError: as :func:`check`; or the download failed.
    """
    if (folder := find(name)) is not None:
        return folder
    check(name)
    from huggingface_hub import snapshot_download

    repository, _, revision = name.partition("@")
    try:
        path = snapshot_download(
            repository, revision=revision or "main", allow_patterns=DOWNLOADED, ignore_patterns=NOT_DOWNLOADED
        )
    except Exception as error:  # no such repository, gated, no token, no connection: the library has a dozen kinds
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{_missing(name)}, and could not be downloaded ({type(error).__name__}: {reason})") from None
    return ModelFolder.read(name, Path(path))


def _missing(name: str) -> str:
    return f"language model {name!r} is neither a folder nor in the cache {hub.cache_folder()}"


def _advice(name: str) -> str:
    return f"fetch it where there is a network (hf download {name.partition('@')[0]} --local-dir DIR), then model=DIR"
