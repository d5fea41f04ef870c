"""Mistral's tokenizers, from the files inside the mistral-common wheel (which is not imported)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from pyharness.plugins import libraries
from pyharness.plugins.registry import pick
from pyharness.tokenizers.families import file
from pyharness.types import InputError, TokenizerFamily, TokenizerSpec

FILES: Mapping[str, str] = {
    "tekken": "tekken_240911.json", "v1": "tokenizer.model.v1", "v2": "mistral_instruct_tokenizer_240216.model.v2",
    "v3": "mistral_instruct_tokenizer_240323.model.v3", "v7": "mistral_instruct_tokenizer_241114.model.v7",
}  # fmt: skip


def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Find the file of a version inside the wheel."""
    name = f"mistral:{argument}"
    filename = pick("mistral tokenizer", argument, FILES)
    folder = libraries.require_folder(f"tokenizer {name!r}", "mistral_common", "zoo", "mistral-common")
    path = folder / "data" / filename
    if not path.is_file():
        raise InputError(f"tokenizer {name!r}: this version of mistral-common has no data/{filename}")
    row = file.row(name, path, options, licence="Apache-2.0")
    return dataclasses.replace(row, source=f"mistral-common: data/{filename}", extra="zoo")


FAMILIES = (
    TokenizerFamily(
        name="mistral",
        place=3,
        expand=expand,
        summary="Mistral's vocabularies inside the mistral-common wheel",
        example="mistral:tekken",
        known=lambda: tuple(FILES),
        extra="zoo",
    ),
)
