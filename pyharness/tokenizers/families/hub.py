"""Finds the tokenizer.json of a Hugging Face Hub repository: the local cache first, then the network."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pyharness.plugins.specification import check_options
from pyharness.system import network
from pyharness.tokenizers import source
from pyharness.tokenizers.families import file
from pyharness.tokenizers.source import VocabularyFile
from pyharness.types import InputError, TokenizerSpec
from pyharness.vocabularies.files import vocabulary_file

FILE = "tokenizer.json"
SHAPE = re.compile(r"([\w.-]+/)?[\w.-]+(@[\w./-]+)?")


def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe a repository's tokenizer; nothing is downloaded yet."""
    name = f"hf:{argument}"
    if not SHAPE.fullmatch(argument) or ".." in argument:
        raise InputError(f"{name!r} is not hf:ORGANISATION/NAME[@revision], e.g. hf:openai-community/gpt2")
    check_options(name, options, ())
    repository, _, revision = argument.partition("@")
    cached = find(repository, revision or "main")
    if cached is not None:
        row = file.row(name, cached, options)
        return dataclasses.replace(row, source=f"https://huggingface.co/{repository}", revision=cached.parent.name)
    if source.installed("huggingface_hub") is None:
        raise InputError(
            f"{name!r} is not in the local cache; pip install 'pyharness[hub]' to get it, or {_advice(repository)}"
        )
    return TokenizerSpec(
        name=name,
        load=VocabularyFile("huggingface", name, partial(fetch, repository, revision or "main")),
        library="tokenizers",
        source=f"https://huggingface.co/{repository}",
        revision=revision or None,
        extra="hub",
        reference=True,
    )


def cache_folder() -> Path:
    """Folder of the Hub's cache, as huggingface_hub finds it."""
    if folder := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(folder).expanduser()
    home = os.environ.get("HF_HOME") or str(Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface")
    return Path(home).expanduser() / "hub"


def find(repository: str, revision: str, name: str = FILE) -> Path | None:
    """Cached file of a branch, tag or commit."""
    folder = cache_folder() / f"models--{repository.replace('/', '--')}"
    reference = folder / "refs" / revision
    commit = reference.read_text().strip() if reference.is_file() else revision
    path = folder / "snapshots" / commit / name
    return path if path.is_file() else None


def fetch(repository: str, revision: str) -> bytes:
    """Download one file of a repository into the Hub's cache."""
    name = f"hf:{repository}"
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    if os.environ.get("HF_HUB_OFFLINE", "0").lower() in ("1", "true", "yes", "on"):
        raise InputError(f"{name!r} is not in the local cache and HF_HUB_OFFLINE is set; {_advice(repository)}")
    if host := network.unreachable(endpoint):
        raise InputError(
            f"tokenizer {name!r} is not on this machine and {host} cannot be reached; {_advice(repository)}"
        )
    from huggingface_hub import hf_hub_download

    try:
        return vocabulary_file.read(Path(hf_hub_download(repository, FILE, revision=revision)))
    except InputError:
        raise
    except Exception as error:  # the library has a dozen kinds: no such repository, gated, no token, no connection
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"{name!r}: {FILE} could not be had ({type(error).__name__}: {reason}); {_advice(repository)}"
        ) from None


def _advice(repository: str) -> str:
    folder = cache_folder() / f"models--{repository.replace('/', '--')}"
    return (
        f"get https://huggingface.co/{repository}/resolve/main/{FILE} elsewhere and use file:PATH/{FILE}, "
        f"or copy a cache that has it to {folder}"
    )
