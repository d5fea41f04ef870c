"""The two files of GPT-2's format: ``vocab.json``, an object of token: id, and ``merges.txt``, one merge per line.

They specify neither how text is split nor which tokens are special. Byte-level files are read as the
``ByteLevelBPETokenizer`` of ``tokenizers`` reads them: with GPT-2's split pattern and no special tokens.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pyharness.types import InputError
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.byte_alphabet import BYTE_ALPHABET, NEVER_IN_UTF8
from pyharness.vocabularies.files.json_file import parse_json
from pyharness.vocabularies.huggingface.pre_tokenizer import pre_tokenizer

_LETTERS = [letter for byte, letter in BYTE_ALPHABET.items() if byte not in NEVER_IN_UTF8]
_SUFFIX = "</w>"


def read_pair(path: Path, pattern: str | None = None, special: Mapping[str, int] | None = None) -> bytes:
    """Return an equivalent tokenizer.json for a ``vocab.json`` and the merges in the same folder.

    ``NAME-vocab.json`` has its merges in ``NAME-merges.txt``.

    Args:
        path: the ``vocab.json``.
        pattern: name or expression of a known split pattern; None: GPT-2's.
        special: special tokens and their ids.

    Raises:
        InputError: a file is missing, damaged or not byte-level, is not named so, or the pattern is unknown.
    """
    vocab = parse_json(vocabulary_file.read(path), str(path))
    if not path.name.endswith("vocab.json"):
        raise InputError(f"{path} is an object of token: id, but not named vocab.json: its merges cannot be found")
    merges = path.with_name(path.name.removesuffix("vocab.json") + "merges.txt")
    if not merges.exists():
        raise InputError(f"{path} needs its merges in a file {merges.name} next to it, but it is missing")
    _check_letters(vocab, str(path))
    flags = dict.fromkeys(("normalized", "lstrip", "rstrip", "single_word"), False)
    content = {
        "version": "1.0",
        "added_tokens": [
            {"id": token, "content": text, "special": True, **flags} for text, token in (special or {}).items()
        ],
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer(pattern or "gpt2", byte_level=True),
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocab, "merges": _merges(vocabulary_file.read(merges), str(merges))},
    }
    return json.dumps(content).encode()


def _check_letters(vocab: Mapping[str, object], label: str) -> None:
    missing = [letter for letter in _LETTERS if letter not in vocab]
    marked = all(letter + _SUFFIX in vocab for letter in _LETTERS)
    if missing or marked:
        what = f"words end in {_SUFFIX!r}" if marked else f"there is no {missing[0]!r}"
        raise InputError(
            f"{label} is not a byte-level vocabulary ({what}), and does not say how else text becomes tokens: use the "
            "tokenizer.json of this tokenizer"
        )


def _merges(data: bytes, label: str) -> list[list[str]]:
    """Read the pairs of a merges file, as ``tokenizers`` does: two tokens per line; ``#version`` starts a comment."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{label} is not valid UTF-8: {error.reason} at byte {error.start}") from None
    merges = []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):  # other separators are letters of tokens
        if line.startswith("#version") or not text:
            continue
        pair = line.removesuffix("\r").split(" ")
        if len(pair) != 2:
            raise InputError(f"{label}, line {number}: {line[:60]!r} is not two tokens with a space between them")
        merges.append(pair)
    return merges
