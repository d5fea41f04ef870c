"""Members of a model file, from a model. :mod:`pyharness.bpe.formats.own.file` says what they mean."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.model.model import BpeModel
from pyharness.types import MergeModel, Offsets, TokenKind, Vocabulary
from pyharness.vocabularies.files.byte_alphabet import in_letters
from pyharness.vocabularies.files.merge_model import byte_level_model
from pyharness.vocabularies.sentencepiece_file import SentencePieceNormalizer


def content_of_model(model: BpeModel) -> dict[str, Any]:
    """JSON members, but for the head of the file; the long ones last."""
    return {
        "algorithm": model.algorithm,
        "symbols": model.symbols,
        "splitter": model.splitter,
        **({} if model.dialect == "regex" else {"dialect": model.dialect}),
        "normalizer": _normalizer(model.normalizer),
        "decoder": model.decoder,
        "drop_space": model.drop_space,
        "unknown": model.unknown,
        "fuse_unknown": model.fuse_unknown,
        "prefix": model.prefix,
        "suffix": model.suffix,
        "whole_pieces": model.whole_pieces,
        "round_trip": model.round_trip,
        "notes": list(model.notes),
        "origin": dict(model.origin),
        "added": [asdict(token) for token in model.added],
        "fallback": list(model.fallback),
        "alphabet": {in_letters(symbol): number for symbol, number in model.alphabet.items()},
        "kinds": _kinds(model.vocabulary),
        "tokens": _tokens(model.vocabulary),
        "scaffold": _scaffold(model),
        "merges": _merges(model),
    }


def _strings(data: NDArray[np.uint8], offsets: Offsets) -> list[str]:
    text = in_letters(data.tobytes())
    ends = offsets.tolist()
    return [text[start:end] for start, end in pairwise(ends)]


def _tokens(vocabulary: Vocabulary) -> list[str | None]:
    tokens: list[str | None] = list(_strings(vocabulary.data, vocabulary.offsets))
    for absent in np.flatnonzero(vocabulary.kinds == TokenKind.ABSENT).tolist():
        tokens[absent] = None
    return tokens


def _kinds(vocabulary: Vocabulary) -> dict[str, list[int]]:
    told = (kind for kind in TokenKind if kind not in (TokenKind.NORMAL, TokenKind.ABSENT))
    ids_of = {kind.name.lower(): np.flatnonzero(vocabulary.kinds == kind).tolist() for kind in told}
    return {name: ids for name, ids in ids_of.items() if ids}


def _normalizer(normalizer: Mapping[str, Any] | SentencePieceNormalizer | None) -> Mapping[str, Any] | None:
    if not isinstance(normalizer, SentencePieceNormalizer):
        return normalizer
    return {"type": "SentencePiece", **asdict(normalizer), "charsmap": base64.b64encode(normalizer.charsmap).decode()}


def _scaffold(model: BpeModel) -> dict[str, Any] | None:
    if model.expansion is None:
        return None
    strings = _strings(model.merges.data, model.merges.offsets)
    tokens = {str(token): strings[token] for token in np.flatnonzero(model.scaffold).tolist()}
    return {"demolition": model.demolition, "tokens": tokens}


def _merges(model: BpeModel) -> dict[str, Any]:
    merges = model.merges
    members: dict[str, Any] = {}
    if not _is_byte_level(model):
        base, ends = merges.base.tolist(), merges.base_offsets.tolist()
        members["strings"] = _strings(merges.data, merges.offsets)
        members["base"] = [base[start:end] for start, end in pairwise(ends)]
    if merges.rules is not None:
        members["rules"] = merges.rules.ravel().tolist()
    if merges.ranks is not None:
        members["ranks"] = merges.ranks.astype(np.int32).tolist()  # 2**32 - 1 becomes -1
    return members


def _is_byte_level(model: BpeModel) -> bool:
    """Whether strings and base symbols follow from the bytes of the tokens."""
    if model.byte_ids is None:
        return False
    merges = model.merges
    if model.expansion is not None:
        return np.array_equal(merges.base, merges.data)
    expected: MergeModel = byte_level_model(model.vocabulary, model.byte_ids)
    return (
        np.array_equal(merges.data, expected.data)
        and np.array_equal(merges.offsets, expected.offsets)
        and np.array_equal(merges.base, expected.base)
        and np.array_equal(merges.base_offsets, expected.base_offsets)
    )
