"""Tokenizer files that must be refused with one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyharness import tokenizers
from pyharness.types import InputError
from pyharness.vocabularies.files.byte_alphabet import BYTE_ALPHABET

BIG = 1 << 40


def refused(path: Path, expected: str, options: str = "") -> None:
    """The file is refused in one line that names it and says why."""
    with pytest.raises(InputError, match=expected) as caught:
        tokenizers.load(f"file:{path}{options}")
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    assert len(message) < 800


def huggingface() -> dict[str, Any]:
    vocab = {character: byte for byte, character in BYTE_ALPHABET.items()} | {"he": 256, "ll": 257}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "added_tokens": [
            {
                "id": 258,
                "content": "<s>",
                "special": True,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
            }
        ],
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocab, "merges": ["h e", "l l"]},
    }


def token(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda content: content["added_tokens"][0].update(changes)


def message(number: int, payload: bytes) -> bytes:
    assert len(payload) < 128
    return bytes([number << 3 | 2, len(payload)]) + payload
