"""Finds the tokenizer.json of a Hugging Face Hub repository: the local cache first, then the network."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pyharness.plugins import libraries
from pyharness.plugins.specification import check_options
from pyharness.system import hub, network
from pyharness.tokenizers.families import file
from pyharness.tokenizers.source import VocabularyFile
from pyharness.types import InputError, TokenizerFamily, TokenizerSpec
from pyharness.vocabularies.files import vocabulary_file

FILE = "tokenizer.json"


def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe a repository's tokenizer; nothing is downloaded yet."""
    name = f"hf:{argument}"
    if not hub.SHAPE.fullmatch(argument) or ".." in argument:
        raise InputError(f"{name!r} is not hf:ORGANISATION/NAME[@revision], e.g. hf:openai-community/gpt2")
    check_options(name, options, ())
    repository, _, revision = argument.partition("@")
    cached = hub.find(repository, revision or "main", FILE)
    if cached is not None:
        row = file.row(name, cached, options)
        return dataclasses.replace(row, source=f"https://huggingface.co/{repository}", revision=cached.parent.name)
    if not libraries.is_installed("huggingface_hub"):
        raise InputError(
            f"{name!r} is not in the local cache; pip install 'pyharness[hub]' to get it, or {_advice(repository)}"
        )
    return TokenizerSpec(
        name=name, load=VocabularyFile("huggingface", name, partial(fetch, repository, revision or "main")),
        library="tokenizers", source=f"https://huggingface.co/{repository}", revision=revision or None, extra="hub",
        reference=True,
    )  # fmt: skip


def fetch(repository: str, revision: str) -> bytes:
    """Return the tokenizer.json of a repository, downloaded into the Hub's cache.

    Raises:
        InputError: the Hub may not be asked, cannot be reached, or does not give the file.
    """
    name = f"hf:{repository}"
    if variable := hub.switched_off("HF_HUB_OFFLINE"):
        raise InputError(f"{name!r} is not in the local cache and {variable} is set; {_advice(repository)}")
    if host := network.unreachable(hub.endpoint()):
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
            f"{name!r}: {FILE} could not be downloaded ({type(error).__name__}: {reason}); {_advice(repository)}"
        ) from None


def _advice(repository: str) -> str:
    return (
        f"get https://huggingface.co/{repository}/resolve/main/{FILE} elsewhere and use file:PATH/{FILE}, "
        f"or copy a cache that has it to {hub.folder_in_cache(repository)}"
    )


FAMILIES = (
    TokenizerFamily(
        name="hf",
        place=1,
        expand=expand,
        summary="tokenizer.json of a Hugging Face Hub repository, from the local cache or the network",
        example="hf:openai-community/gpt2",
        extra="hub",
    ),
)
