"""Adds pieces to a SentencePiece model, or removes some: edits the message on the wire.

Pieces that stay keep their bytes. New pieces follow the last one, or replace a piece whose id they reuse. Their scores
are below the lowest: their order is their rank. In ``trainer_spec``, the vocabulary's size and the ids of special
pieces change. If anything changes, ``self_test_data`` is dropped, because the library refuses a model that splits those
texts differently. Every other field keeps its bytes.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pyharness.features.adaptation.id_maps import IdMap, check_absent, check_map, check_new, moved, refuse_removal
from pyharness.types import InputError
from pyharness.vocabularies.sentencepiece_file import (
    ModelType,
    PieceType,
    SentencePieceModel,
    fields,
    placed_fields,
    read_model,
    written_field,
)

_PIECES, _TRAINER, _SELF_TEST = 1, 2, 4  # fields of ModelProto
_VOCAB_SIZE = 4  # of TrainerSpec
_IDS = {40: "the unknown piece", 41: "the beginning of a text", 42: "the end of a text", 43: "the padding"}
_NAMES = {45: "<unk>", 46: "<s>", 47: "</s>", 48: "<pad>"}  # pieces that the library needs, with their defaults
_REUSABLE = (PieceType.UNUSED, PieceType.CONTROL, PieceType.USER_DEFINED)
_LOWEST_WHOLE = 1.0 - (1 << 24)  # below, a 32-bit float cannot represent all whole numbers


def extend_model(data: bytes, tokens: Sequence[tuple[int, bytes]], label: str) -> bytes:
    """Add pieces, in the order of their ranks.

    Args:
        data: a serialised model of type BPE.
        tokens: ids and pieces in UTF-8, ``▁`` for a space. An unused, control or user-defined piece may lose its id;
        the other ids follow the last piece one by one.
        label: name of the file in errors.

    Raises:
        InputError: the file is damaged or no BPE model; a piece already exists or is no text; an id is taken or leaves
            a gap; there are not enough lower scores.
    """
    model = _read(data, label)
    check_new(tokens, label)
    pieces = {token: _text(string, label) for token, string in tokens}
    reused = {token for token in pieces if token < len(model.pieces)}
    _check_reused(model, data, reused, label)
    kept = {piece: token for token, piece in enumerate(model.pieces) if token not in reused}
    check_absent(pieces.values(), kept, label)
    if sorted(pieces.keys() - reused) != [*range(len(model.pieces), len(model.pieces) + len(pieces) - len(reused))]:
        raise InputError(f"{label}: the id of a piece is its place; new ones follow {len(model.pieces) - 1} one by one")
    scores = _scores(model, len(pieces), label)
    new = {token: _piece(piece, score) for (token, piece), score in zip(pieces.items(), scores, strict=True)}
    return _write(
        data,
        {token: new[token] for token in reused},
        [new[token] for token in sorted(new.keys() - reused)],
        None,
        label,
    )


def prune_model(data: bytes, ids: IdMap, label: str) -> bytes:
    """Remove the pieces that a map leaves out; the others keep order, bytes and scores.

    Raises:
        InputError: the file is damaged or no BPE model; the map is of another file, changes the order or leaves gaps,
            or removes the unknown piece, a byte or another piece that the library needs.
    """
    model = _read(data, label)
    check_map(ids, dict(enumerate(model.pieces)), label, gaps=False)
    needed = _find_needed(data, label)
    for token, piece in enumerate(model.pieces):
        if ids.new[token] < 0 and (piece in needed or model.types[token] in (PieceType.UNKNOWN, PieceType.BYTE)):
            refuse_removal(token, f"the piece {piece!r}", label)
    gone = {token: b"" for token in range(len(model.pieces)) if ids.new[token] < 0}
    return _write(data, gone, [], ids, label)


def _read(data: bytes, label: str) -> SentencePieceModel:
    model = read_model(data, label)
    if model.model_type is not ModelType.BPE:
        raise InputError(f"{label} is a {model.model_type.name} model, not BPE: it has no merges")
    return model


def _text(string: bytes, label: str) -> str:
    try:
        return string.decode()
    except UnicodeDecodeError:
        raise InputError(f"{label}: the new piece {string!r} is not UTF-8") from None


def _check_reused(model: SentencePieceModel, data: bytes, reused: Iterable[int], label: str) -> None:
    needed = _find_needed(data, label)
    for token in reused:
        piece, kind = model.pieces[token], model.types[token]
        if kind not in _REUSABLE or piece in needed:
            raise InputError(f"{label}: id {token} belongs to {piece!r}, which is neither reserved nor unused")


def _find_needed(data: bytes, label: str) -> set[str]:
    """Return the pieces that the library looks up by name."""
    names = dict(_NAMES)
    for number, value in fields(data, label):
        if number == _TRAINER and isinstance(value, bytes):
            own = {field: text for field, text in fields(value, label) if field in names and isinstance(text, bytes)}
            names |= {field: text.decode(errors="replace") for field, text in own.items()}
    return set(names.values())


def _scores(model: SentencePieceModel, count: int, label: str) -> list[float]:
    """Return descending scores below the lowest: whole numbers where a float has enough of them.

    Some models have -1e9 for runs of spaces, where neighbouring 32-bit floats are 64 apart.
    """
    lowest = np.float32(min(model.scores))
    if np.isfinite(lowest) and lowest - count > _LOWEST_WHOLE:
        return [float(math.floor(lowest) - 1 - rank) for rank in range(count)]
    bits = int(lowest.view(np.uint32)) + np.arange(1, count + 1, dtype=np.uint64)
    scores = bits.astype(np.uint32).view(np.float32)
    if not np.isfinite(lowest) or not np.isfinite(scores).all():
        raise InputError(f"{label}: the lowest score is {lowest:g}; there are no {count:,} different ones below")
    return [float(score) for score in scores]


def _piece(piece: str, score: float) -> bytes:
    return written_field(_PIECES, written_field(1, piece.encode()) + b"\x15" + struct.pack("<f", score))


def _write(data: bytes, changed: Mapping[int, bytes], new: Sequence[bytes], ids: IdMap | None, label: str) -> bytes:
    """Return the message with some pieces changed or removed, and new ones after the last."""
    if not changed and not new and (ids is None or (ids.new == range(len(ids))).all()):
        return data
    placed = list(placed_fields(data, label))
    places = [place for place, (number, _, _) in enumerate(placed) if number == _PIECES]
    size = len(places) + len(new) - sum(not piece for piece in changed.values())
    parts = [data[start:end] for _, _, (start, end) in placed]
    for token, piece in changed.items():
        parts[places[token]] = piece
    parts[places[-1]] += b"".join(new)
    for place, (number, value, _) in enumerate(placed):
        if number == _TRAINER and isinstance(value, bytes):
            parts[place] = written_field(_TRAINER, _trainer(value, size, ids, label))
        elif number == _SELF_TEST:
            parts[place] = b""
    return b"".join(parts)


def _trainer(data: bytes, size: int, ids: IdMap | None, label: str) -> bytes:
    """Return the trainer's specification with the new size and the new ids of pieces."""
    parts = []
    for number, value, (start, end) in placed_fields(data, label):
        new = value
        if number == _VOCAB_SIZE:
            new = size
        elif number in _IDS and ids is not None and isinstance(value, int) and value < len(ids):
            new = moved(ids, value, _IDS[number], label)
        parts.append(data[start:end] if new == value else written_field(number, new))
    return b"".join(parts)
