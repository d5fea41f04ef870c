"""GGUF files written by hand: metadata, and nothing or a promise of tensors behind it."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

STRING, LIST, UINT32, FLOAT, BOOL, INT32 = 8, 9, 4, 6, 7, 5


def string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value(one: Any) -> bytes:
    """A value with its type before it."""
    if isinstance(one, bool):
        return struct.pack("<I?", BOOL, one)
    if isinstance(one, int):
        return struct.pack("<II", UINT32, one)
    if isinstance(one, float):
        return struct.pack("<If", FLOAT, one)
    if isinstance(one, str):
        return struct.pack("<I", STRING) + string(one)
    return struct.pack("<I", LIST) + items(one)


def items(many: Sequence[Any]) -> bytes:
    if many and isinstance(many[0], str):
        return struct.pack("<IQ", STRING, len(many)) + b"".join(map(string, many))
    form, kind = ("f", FLOAT) if many and isinstance(many[0], float) else ("i", INT32)
    return struct.pack(f"<IQ{len(many)}{form}", kind, len(many), *many)


def gguf(pairs: Mapping[str, Any], version: int = 3, tensors: int = 0, behind: bytes = b"") -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, tensors, len(pairs))
    return head + b"".join(string(key) + value(one) for key, one in pairs.items()) + behind


def of_tokenizer_json(data: bytes, pre: str) -> dict[str, Any]:
    """The metadata of a byte-level tokenizer.json, as llama.cpp's own script writes it."""
    content = json.loads(data)
    vocab = dict(content["model"]["vocab"])
    types = dict.fromkeys(vocab.values(), 1)
    for token in content.get("added_tokens") or ():
        vocab[token["content"]] = token["id"]
        types[token["id"]] = 3 if token["special"] else 4
    by_id = {number: text for text, number in vocab.items()}
    size = max(by_id) + 1
    merges = [one if isinstance(one, str) else " ".join(one) for one in content["model"]["merges"]]
    return {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": [by_id.get(number, f"[PAD{number}]") for number in range(size)],
        "tokenizer.ggml.token_type": [types.get(number, 5) for number in range(size)],
        "tokenizer.ggml.merges": merges,
    }


def of_pieces(pieces: Sequence[tuple[str, float, int]], **options: Any) -> dict[str, Any]:
    """The metadata of a SentencePiece model: text, score and type of each piece."""
    return {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": [text for text, _, _ in pieces],
        "tokenizer.ggml.scores": [float(score) for _, score, _ in pieces],
        "tokenizer.ggml.token_type": [kind for _, _, kind in pieces],
        **{f"tokenizer.ggml.{name}": one for name, one in options.items()},
    }
