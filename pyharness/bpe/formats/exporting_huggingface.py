"""Models as tokenizer.json, for ``tokenizers``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.analysis.canonical_rules import canonical_rules, unmergeable
from pyharness.bpe.formats.importing_huggingface import check_whole_pieces
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.token_lookup import TokenLookup
from pyharness.types import InputError
from pyharness.vocabularies.huggingface.pre_tokenizer import pre_tokenizer
from pyharness.vocabularies.sentencepiece_file import SentencePieceNormalizer

_BYTE_LEVEL_DECODER = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
_FUSE = {"type": "Fuse"}
_SPACE = "▁"


def tokenizer_json(model: BpeModel) -> bytes:
    """Content of a tokenizer.json.

    Raises:
        InputError: the model has what ``tokenizers`` has no place for.
    """
    _check(model)
    strings = _strings(model)
    vocab = {string: token for token, string in enumerate(strings) if string is not None}
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [asdict(token) for token in model.added],
        "normalizer": model.normalizer,
        "pre_tokenizer": _pre_tokenizer(model),
        "post_processor": None,
        "decoder": _decoder(model),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None if model.unknown is None else strings[model.unknown],
            "continuing_subword_prefix": model.prefix or None,
            "end_of_word_suffix": model.suffix or None,
            "fuse_unk": model.fuse_unknown,
            "byte_fallback": bool(model.fallback),
            "ignore_merges": _ignore_merges(model),
            "vocab": vocab,
            "merges": [[strings[left], strings[right]] for left, right, _ in _rules(model).tolist()],
        },
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _check(model: BpeModel) -> None:
    if isinstance(model.normalizer, SentencePieceNormalizer):
        raise InputError(
            "tokenizer.json cannot express a SentencePiece model exactly: pieces of equal score and unknown characters "
            "merge differently there; keep the original file"
        )


def _rules(model: BpeModel) -> NDArray[np.uint32]:
    return canonical_rules(model.merges) if model.merges.rules is None else model.merges.rules


def _strings(model: BpeModel) -> list[str | None]:
    """How each token is spelled in the file; None where no token has the id.

    Added tokens are in the vocabulary, too: otherwise tokenizers numbers them without gaps.
    """
    lookup = TokenLookup(model)
    strings: list[str | None] = [lookup.string_of(token) for token in range(model.id_limit)]
    _check_distinct(strings, model)
    return strings


def _check_distinct(strings: list[str | None], model: BpeModel) -> None:
    seen: dict[str, int] = {}
    for token, string in enumerate(strings):
        if string is not None and seen.setdefault(string, token) != token:
            raise InputError(f"tokenizer.json cannot express two tokens that read {string!r}: {seen[string]}, {token}")
    symbols = set(model.alphabet.values())
    for added in model.added:
        if len(added.content) == 1 and added.id not in symbols:
            raise InputError(f"tokenizer.json would take the added token {added.content!r} for a base symbol")


def _ignore_merges(model: BpeModel) -> bool:
    """Whether whole pieces must be looked up: only where merging would not find them anyway."""
    if not model.whole_pieces or not len(unmergeable(model.merges)):
        return False
    check_whole_pieces(model, (token.content for token in model.added))
    return True


def _pre_tokenizer(model: BpeModel) -> Mapping[str, Any] | None:
    if not isinstance(model.splitter, str):
        return model.splitter
    return pre_tokenizer(model.splitter, byte_level=model.symbols == "bytes")


def _decoder(model: BpeModel) -> Mapping[str, Any] | None:
    if model.decoder == "spaces":
        return None
    if model.decoder is not None:
        return model.decoder
    if model.prefix or model.suffix:
        return _decoder_of_affixes(model)
    if model.symbols == "bytes" or model.in_letters:
        return _BYTE_LEVEL_DECODER
    steps: list[Mapping[str, Any]] = [{"type": "ByteFallback"}, {"type": "Fuse"}]
    if any(_SPACE.encode() in symbol for symbol in model.alphabet):
        steps.insert(0, {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "})
    if model.drop_space:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}


def _decoder_of_affixes(model: BpeModel) -> Mapping[str, Any]:
    """Decoder that leaves prefix and suffix out wherever they stand; pieces have the spaces between them."""
    steps: list[Mapping[str, Any]] = [
        {"type": "Replace", "pattern": {"String": affix}, "content": ""}
        for affix in (model.suffix, model.prefix)
        if affix
    ]
    return {"type": "Sequence", "decoders": [*steps, _BYTE_LEVEL_DECODER if model.symbols == "bytes" else _FUSE]}
