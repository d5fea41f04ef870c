"""Finds a language model: in a folder, in the Hub's cache, or on the Hub."""

from __future__ import annotations

from pathlib import Path

from pyharness.language_models.folder import CONFIG, ModelFolder, listed
from pyharness.system import folders, hub, network
from pyharness.types import InputError

DOWNLOADED = ["*.json", "*.safetensors", "tokenizer.model", "*.tiktoken"]
NOT_DOWNLOADED = ["*/*", "consolidated*"]  # the same weights for other programs


def find(name: str) -> ModelFolder | None:
    """Read a folder, or the local cache of a Hub repository; None when that must be downloaded first."""
    try:
        path = folders.expanded(name)
        if path.is_dir():
            return ModelFolder.read(name, path)
        if path.exists():
            raise InputError(f"language model {name!r} is a file; name the folder it is in")
    except (OSError, RuntimeError) as error:  # may not be read, too long a name, ~ of nobody
        raise InputError(f"cannot look for language model {name[:200]!r}: {error}") from None
    if name.startswith(("/", ".", "~")) or not hub.SHAPE.fullmatch(name) or ".." in name:
        raise InputError(f"no language model {name!r}: neither a folder nor ORGANISATION/NAME[@revision] of the Hub")
    repository, _, revision = name.partition("@")
    cached = hub.find(repository, revision or "main", CONFIG)
    # A snapshot may hold the tokenizer alone, or what a broken download has left.
    if cached is None or not all(file.is_file() for file in listed(cached.parent)):
        return None
    return ModelFolder.read(name, cached.parent)


def check(name: str) -> None:
    """Raise ``InputError`` for a model that is neither here nor to be had, before anything runs."""
    if find(name) is not None:
        return
    if variable := hub.switched_off("HF_HUB_OFFLINE"):
        raise InputError(f"{_missing(name)} and {variable} is set; {_advice(name)}")
    if host := network.unreachable(hub.endpoint()):
        raise InputError(f"{_missing(name)} and {host} cannot be reached; {_advice(name)}")


def obtain(name: str) -> ModelFolder:
    """Find a model, or download its safetensors and JSON files into the Hub's cache."""
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
        raise InputError(f"{_missing(name)}, nor to be had ({type(error).__name__}: {reason})") from None
    return ModelFolder.read(name, Path(path))


def _missing(name: str) -> str:
    return f"language model {name!r} is neither a folder nor in the cache {hub.cache_folder()}"


def _advice(name: str) -> str:
    return f"fetch it where there is a network (hf download {name.partition('@')[0]} --local-dir DIR), then model=DIR"
