"""A model whose tokens cannot all be reached, and a file of characters with byte fallback."""

from __future__ import annotations

from typing import Any

from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.model.model import BpeModel
from tokenizer_files import rank_data


def characters(**changes: Any) -> dict[str, Any]:
    """A character-level model with byte fallback, as files converted from SentencePiece have it."""
    vocab = {"<unk>": 0, **{f"<0x{byte:02X}>": 1 + byte for byte in range(256)}}
    for piece in ("▁", "a", "b", "é", "ab", "▁ab"):
        vocab[piece] = len(vocab)
    replace = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    steps = [replace, {"type": "ByteFallback"}, {"type": "Fuse"}]
    model = {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "vocab": vocab}
    merges = [["a", "b"], ["▁", "ab"]]
    decoder = {"type": "Sequence", "decoders": [*steps, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    content: dict[str, Any] = {"added_tokens": [], "pre_tokenizer": None, "normalizer": None, "decoder": decoder}
    return {"version": "1.0", **content, "model": {**model, "merges": merges}, **changes}


def unreachable_tokens() -> BpeModel:
    """`abc` exists, but `bc` is merged first and nothing takes `a` and `bc`."""
    return import_model(rank_data((b"bc", b"ab", b"abcd")), pattern="gpt2", special={"<x>": 300})
