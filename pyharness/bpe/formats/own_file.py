"""Our own model files, ``format: pyharness-bpe``: one JSON object with all that a :class:`BpeModel` contains.

Byte strings are written in the byte alphabet of GPT-2 (``Ġthe`` is `` the``): one character per byte. So they can be
read, searched and compared with a tokenizer.json; base64 could not, and takes longer to load. Ids are integers.

- ``format``, ``version``, ``digest``, ``written_by``: :mod:`pyharness.vocabularies.own_file`. The version is 1,
  or 2 if unused tokens merge; readers of version 1 would write such tokens.
- ``tokens``: output id -> bytes as decoded; null where no token has the id.
- ``kinds``: kind (``special``, ``added``, ``byte_fallback``, ``unknown``, ``unused``) -> output ids. Other tokens are
  normal.
- ``added``: tokens that are matched in the text before merging, as in tokenizer.json.
- ``alphabet``: base symbol -> internal id.
- ``merges``: ``rules``, the left, right and result id of every rule, end to end, in rank order; or ``ranks``, internal
  id -> rank, -1 for ids that no merge gives. ``strings`` and ``base`` (internal id -> string before decoding, and its
  base symbols) only where they do not follow from the bytes of the tokens.
- ``scaffold``: of Scaffold-BPE, internal id -> bytes of the tokens that are merged but never written, and the
  demolition rule; their output follows from the rules. Internal ids number the normal and the scaffold tokens in rank
  order. Without Scaffold-BPE it is null, and internal ids are output ids.
- ``dialect``: the engine of an expression as ``splitter``; omitted if it is ``regex``.
- ``origin``: where the model comes from; without effect.

All other members are fields of :class:`BpeModel`; a file with any further member is refused.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.formats.own_reader import model_of_content
from pyharness.bpe.model.check import check_model
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.unused_pieces import merging_unused
from pyharness.system import atomic_file
from pyharness.types import MergeModel, Offsets, TokenKind, Vocabulary
from pyharness.vocabularies import own_file
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.byte_alphabet import in_letters
from pyharness.vocabularies.files.merge_model import byte_level_model
from pyharness.vocabularies.sentencepiece_file import SentencePieceNormalizer

FORMAT = "pyharness-bpe"
VERSION = 2


def content_of_model(model: BpeModel) -> dict[str, Any]:
    """Return the JSON members, without the head of the file; the long ones last."""
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
    return [text[start:end] for start, end in pairwise(offsets.tolist())]


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
    """Return whether strings and base symbols follow from the bytes of the tokens."""
    if model.byte_ids is None:
        return False
    merges = model.merges
    if model.expansion is not None:
        return np.array_equal(merges.base, merges.data)
    expected: MergeModel = byte_level_model(model.vocabulary, model.byte_ids)
    names = ("data", "offsets", "base", "base_offsets")
    return all(np.array_equal(getattr(merges, name), getattr(expected, name)) for name in names)


def save(model: BpeModel, path: str | Path) -> None:
    """Write a model file, whole or not at all. An existing file is replaced; links, devices and pipes stay.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> save(model_of_training(trained, "gpt2"), "model.json")
    >>> BpeTokenizer(load("model.json")).encode("hugs").tolist()
    [257, 115]

    Raises:
        InputError: the model contradicts itself, or the file cannot be written.
    """
    atomic_file.write(Path(path), save_bytes(model, str(path)), overwrite=True)


def load(path: str | Path) -> BpeModel:
    """Read a model file of our own; :func:`pyharness.bpe.import_model` reads those of others, too.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> save(model_of_training(trained, "gpt2"), "model.json")
    >>> load("model.json").vocabulary[257]
    b'hug'

    Raises:
        InputError: the file is damaged, of a newer version, or no model file.
    """
    return load_bytes(vocabulary_file.read(Path(path)), str(path))


def save_bytes(model: BpeModel, label: str = "the model") -> bytes:
    """Return the content of the file of a model; errors call it ``label``.

    Raises:
        InputError: the model contradicts itself, or a value in it cannot be written as JSON.
    """
    check_model(model, label)
    return own_file.write(FORMAT, 2 if merging_unused(model).any() else 1, content_of_model(model), label)


def load_bytes(data: bytes, label: str) -> BpeModel:
    """Read a model from the content of a file; errors call it ``label``.

    Raises:
        InputError: as :func:`load`.
    """
    model = model_of_content(own_file.read(FORMAT, VERSION, data, label, "pyharness.bpe.import_model"), label)
    check_model(model, label)
    return model
