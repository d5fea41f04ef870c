"""Rows ``auto:FOLDER``: transformers' AutoTokenizer, as most people load a model folder. No code of the folder runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pyharness.plugins import libraries
from pyharness.plugins.specification import check_options
from pyharness.system import bounded_file, folders
from pyharness.tokenizers.source import refusing
from pyharness.types import Ids, InputError, RoundTrip, Tokenizer, TokenizerFamily, TokenizerSpec, Tokens, Unsupported
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_FILE, BIGGEST_ID

CONFIG = "tokenizer_config.json"
_MOST_BYTES = 64 << 20  # of the configuration
_READ = (".json", ".model", ".txt", ".jinja", ".tiktoken")  # suffixes of files that transformers may read


class AutoTokenizerRow:
    """A tokenizer as AutoTokenizer makes it. Special tokens in a text are text, and none is added."""

    round_trip: RoundTrip = "normalised"  # decoding gives text, so bytes of cut characters are lost

    def __init__(self, library: Any) -> None:
        self.library = library
        ids = library.get_vocab().values()
        self.id_limit = max(ids, default=-1) + 1
        if not 0 < self.id_limit <= BIGGEST_ID:
            raise InputError(f"its ids go up to {self.id_limit - 1:,}; ids are from 0 to {BIGGEST_ID - 1:,}")
        special = {number for number, token in library.added_tokens_decoder.items() if token.special}
        self.vocab_size = len(set(ids) - special - set(library.all_special_ids))
        speed = "fast" if library.is_fast else "slow"
        self.notes: tuple[str, ...] = (f"{type(library).__name__}, which is {speed}",)

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Encode documents in one call; the number of threads is the library's own."""
        del threads
        if not texts:
            return Tokens.from_lists([])
        return Tokens.from_lists(
            self.library(
                list(texts), add_special_tokens=False, split_special_tokens=True, return_attention_mask=False,
                return_token_type_ids=False, padding=False, truncation=False, verbose=False,
            )["input_ids"]
        )  # fmt: skip

    def decode(self, ids: Ids) -> bytes:
        """Return the text of one document's ids."""
        text: str = self.library.decode(
            np.asarray(ids).tolist(), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text.encode()


def check_folder(argument: str) -> Path:
    """Return the folder of a tokenizer after checks of its files, without transformers.

    Raises:
        InputError: there is no such folder, or its tokenizer needs code of its own.
    """
    path = folders.expanded(argument)
    if not path.is_dir():
        raise InputError(f"{str(path)!r} is not a folder; name the folder of a model, or read a file with file:PATH")
    config = path / CONFIG
    if not config.is_file() and not (path / "tokenizer.json").is_file():
        raise InputError(f"{path} has neither {CONFIG} nor tokenizer.json: it is not the folder of a tokenizer")
    for file in sorted(path.iterdir()):
        if file.suffix in _READ and file.is_file() and file.stat().st_size > BIGGEST_FILE:
            raise InputError(
                f"{file} has {file.stat().st_size:,} bytes; files of a tokenizer have at most {BIGGEST_FILE:,}"
            )
    if config.is_file():
        try:
            content = parse_json(bounded_file.read(config, _MOST_BYTES, str(config)), str(config))
        except OSError as error:
            raise InputError(f"cannot read {config}: {error.strerror or error}") from None
        if "auto_map" in content:
            raise InputError(f"{config} needs code of its own (auto_map), which is never run; use file: for its file")
    return path


def _load(path: Path, slow: bool, spec: TokenizerSpec) -> Tokenizer:
    os.environ["USE_HUB_KERNELS"] = "NO"  # read when transformers is imported: the Hub's kernels are code, too
    transformers = libraries.load(f"tokenizer {spec.name!r}", "transformers", "hub")
    with refusing(spec.name, "transformers"):
        library = transformers.AutoTokenizer.from_pretrained(
            str(path), use_fast=not slow, trust_remote_code=False, local_files_only=True
        )
        if slow and library.is_fast:
            version = transformers.__version__
            raise Unsupported(f"transformers {version} has no slow class for {str(path)!r}: leave slow= out")
        return AutoTokenizerRow(library)


def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe the row of a folder."""
    name = f"auto:{argument}"
    check_options(name, options, ("slow",))
    if (slow := options.get("slow", "0")) not in ("0", "1"):
        raise InputError(f"{name}: slow={slow} is neither 0 nor 1")
    path = check_folder(argument)
    libraries.require(f"tokenizer {name!r}", "transformers", "hub")
    return TokenizerSpec(
        name, partial(_load, path, slow == "1"), library="transformers", source=str(path), extra="hub",
        options=dict(options),
    )  # fmt: skip


FAMILIES = (
    TokenizerFamily(
        name="auto",
        expand=expand,
        summary="a model folder as transformers' AutoTokenizer loads it (?slow=1: its slow class); no code of the "
        "folder runs",
        example="auto:PATH/folder",
        extra="hub",
    ),
)
