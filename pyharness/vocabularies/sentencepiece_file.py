"""SentencePiece models as data: a bounded reader of the necessary protobuf fields, and the meaning of pieces.

The library's own reader trusts the file, and needs the library. Field numbers: sentencepiece_model.proto.
"""

from __future__ import annotations

import dataclasses
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

import numpy as np

from pyharness.types import InputError, MergeModel, TokenKind, Vocabulary
from pyharness.vocabularies.files.merge_model import character_symbols, symbol_model
from pyharness.vocabularies.files.vocabulary_file import BIGGEST_ID

_AFTER_THE_PIECES = {2: "trainer_spec", 3: "normalizer_spec"}  # in every model that a trainer writes
Field: TypeAlias = tuple[int, int | bytes]  # number, and a varint or the bytes of any other type
SPACE = "▁"


class PieceType(IntEnum):
    """``SentencePiece.Type`` of the schema."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


class ModelType(IntEnum):
    """``TrainerSpec.ModelType`` of the schema."""

    UNIGRAM = 1
    BPE = 2
    WORD = 3
    CHAR = 4


@dataclass(frozen=True, slots=True)
class SentencePieceNormalizer:
    """``NormalizerSpec`` of the schema, with the one field of ``TrainerSpec`` that belongs to it."""

    name: str = ""
    charsmap: bytes = b""  # a precompiled table that replaces characters (NFKC and the like); empty: none
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True
    whitespace_as_suffix: bool = False


@dataclass(frozen=True, slots=True)
class SentencePieceModel:
    """The fields of a model file that the harness uses; ids are positions in ``pieces``."""

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    types: tuple[PieceType, ...]
    model_type: ModelType = ModelType.UNIGRAM
    byte_fallback: bool = False
    normalizer: SentencePieceNormalizer = field(default_factory=SentencePieceNormalizer)


def read_model(data: bytes, label: str) -> SentencePieceModel:
    """Parse a model; anything else raises ``InputError``."""
    pieces: list[tuple[str, float, PieceType]] = []
    trainer: dict[int, int | bytes] = {}
    normalizer: dict[int, int | bytes] = {}
    met: set[int] = set()
    for number, value in fields(data, label):
        met.add(number)
        if number == 1:
            pieces.append(_piece(_message(value, label, "piece"), label, len(pieces)))
        elif number == 2:
            trainer.update(fields(_message(value, label, "trainer_spec"), label))
        elif number == 3:
            normalizer.update(fields(_message(value, label, "normalizer_spec"), label))
    _check(pieces, label)
    kind = trainer.get(3, 1)
    if kind not in list(ModelType):
        raise InputError(f"{label}: unknown SentencePiece model type {kind!r}")
    if missing := [name for number, name in _AFTER_THE_PIECES.items() if number not in met]:
        raise InputError(
            f"{label} is cut off: it has {len(pieces):,} pieces and no {missing[0]}, which comes after the last one"
        )
    return SentencePieceModel(
        pieces=tuple(piece for piece, _, _ in pieces),
        scores=tuple(score for _, score, _ in pieces),
        types=tuple(kind for _, _, kind in pieces),
        model_type=ModelType(int(kind)),
        byte_fallback=bool(trainer.get(35, 0)),
        normalizer=_normalizer(normalizer, trainer, label),
    )


def _normalizer(
    spec: Mapping[int, int | bytes], trainer: Mapping[int, int | bytes], label: str
) -> SentencePieceNormalizer:
    return SentencePieceNormalizer(
        name=_text(spec.get(1, b""), label, "normalizer name"),
        charsmap=_message(spec.get(2, b""), label, "precompiled_charsmap"),
        add_dummy_prefix=bool(spec.get(3, 1)),
        remove_extra_whitespaces=bool(spec.get(4, 1)),
        escape_whitespaces=bool(spec.get(5, 1)),
        whitespace_as_suffix=bool(trainer.get(24, 0)),
    )


def fields(data: bytes, label: str) -> Iterator[Field]:
    """Yield the fields of a message, in order. Lengths are checked against the available bytes before any copy.

    Raises:
        InputError: the data is cut off, or no message.
    """
    for number, value, _ in placed_fields(data, label):
        yield number, value


def placed_fields(data: bytes, label: str) -> Iterator[tuple[int, int | bytes, tuple[int, int]]]:
    """Yield the fields of a message, in order, each with the span of all of it: key, length and value."""
    position = 0
    while position < len(data):
        start = position
        key, position = _varint(data, position, label)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise InputError(f"{label} is not a SentencePiece model: field number 0 at byte {position}")
        if wire == 0:
            value, position = _varint(data, position, label)
            yield number, value, (start, position)
            continue
        if wire == 2:
            size, position = _varint(data, position, label)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise InputError(f"{label} is not a SentencePiece model: wire type {wire} at byte {position}")
        if size > len(data) - position:
            raise InputError(
                f"{label} is cut off or broken: a field claims {size:,} bytes, {len(data) - position:,} are left"
            )
        yield number, data[position : position + size], (start, position + size)
        position += size


def written_field(number: int, value: int | bytes) -> bytes:
    """Write a field of a message: a number from 0, or bytes."""
    if isinstance(value, int):
        return _written_varint(number << 3) + _written_varint(value)
    return _written_varint(number << 3 | 2) + _written_varint(len(value)) + value


def _written_varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _written_varint(rest) if rest else bytes([low])


def raw_model(data: bytes) -> bytes:
    """Return the same model with its normaliser switched off, so that the model alone can encode a piece.

    Protobuf messages laid end to end merge, and later values replace earlier ones. Here these are the name "identity",
    no charsmap, and all flags off.
    """
    spec = b"\x0a\x08identity" + b"\x12\x00" + b"\x18\x00" + b"\x20\x00" + b"\x28\x00"
    return data + b"\x1a" + bytes([len(spec)]) + spec


def _varint(data: bytes, position: int, label: str) -> tuple[int, int]:
    result = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise InputError(f"{label} is cut off or broken: it ends inside a number")
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, position
    raise InputError(f"{label} is not a SentencePiece model: a number of more than 10 bytes before byte {position}")


def _message(value: int | bytes, label: str, what: str) -> bytes:
    if isinstance(value, int):
        raise InputError(f"{label} is not a SentencePiece model: {what} is a number")
    return value


def _text(value: int | bytes, label: str, what: str) -> str:
    try:
        return _message(value, label, what).decode()
    except UnicodeDecodeError:
        raise InputError(f"{label}: {what} is not valid UTF-8") from None


# As trainers write a piece: at most 127 bytes of text, a score and, unless it is NORMAL, a type.
_PIECE = re.compile(rb"\x0a([\x00-\x7f])(.*)\x15(....)(?:\x18([\x01-\x06]))?", re.DOTALL)
_TYPES = {int(kind): kind for kind in PieceType}


def _piece(data: bytes, label: str, token: int) -> tuple[str, float, PieceType]:
    if (plain := _PIECE.fullmatch(data)) is not None and plain[1][0] == len(plain[2]):
        text, score, kind = plain[2], plain[3], plain[4][0] if plain[4] else 1
    else:
        values = dict(fields(data, label))
        text, score, kind = values.get(1, b""), values.get(2, b"\0\0\0\0"), values.get(3, 1)
    if not isinstance(score, bytes) or len(score) != 4 or kind not in _TYPES:
        raise InputError(f"{label}: piece {token} has a score or type that is none")
    number: float = struct.unpack("<f", score)[0]
    if number != number:
        raise InputError(f"{label}: the score of piece {token} is not a number")
    return _text(text, label, f"piece {token}"), number, _TYPES[int(kind)]


def _check(pieces: list[tuple[str, float, PieceType]], label: str) -> None:
    if not pieces or len(pieces) > BIGGEST_ID:
        raise InputError(f"{label} is not a SentencePiece model: {len(pieces):,} pieces")
    seen: dict[str, int] = {}
    for token, (piece, _, kind) in enumerate(pieces):
        if not piece:
            raise InputError(f"{label}: piece {token} is empty")
        if piece in seen:
            raise InputError(f"{label}: pieces {seen[piece]} and {token} are both {piece!r}")
        if kind is PieceType.BYTE and not re.fullmatch("<0x[0-9A-F]{2}>", piece):
            raise InputError(f"{label}: piece {token} is of type BYTE but reads {piece!r}, not <0x00> to <0xFF>")
        seen[piece] = token
    unknown = sum(kind is PieceType.UNKNOWN for _, _, kind in pieces)
    if unknown != 1:
        raise InputError(f"{label} has {unknown} unknown pieces; a SentencePiece model has exactly one")


KINDS = {
    PieceType.NORMAL: TokenKind.NORMAL,
    PieceType.UNKNOWN: TokenKind.UNKNOWN,
    PieceType.CONTROL: TokenKind.SPECIAL,
    PieceType.USER_DEFINED: TokenKind.ADDED,
    PieceType.UNUSED: TokenKind.UNUSED,
    PieceType.BYTE: TokenKind.BYTE_FALLBACK,
}


def vocabulary(model: SentencePieceModel) -> Vocabulary:
    """Return the pieces, with ``▁`` as the space it stands for, and a byte for ``<0xNN>``."""
    tokens: dict[int, bytes] = {}
    for token, (piece, kind) in enumerate(zip(model.pieces, model.types, strict=True)):
        is_byte = kind is PieceType.BYTE
        tokens[token] = bytes.fromhex(piece[3:5]) if is_byte else piece.replace(SPACE, " ").encode()
    return Vocabulary.from_tokens(tokens, {token: KINDS[kind] for token, kind in enumerate(model.types)})


def merge_model(model: SentencePieceModel) -> MergeModel:
    """Return a BPE model in ranks form: pieces by descending score; equal scores have equal ranks.

    SentencePiece merges strings, and a character that is no piece merges like any other. It has no id, so a piece that
    contains it cannot be written in base symbols, and is not tested.
    """
    kinds = np.array([KINDS[kind] for kind in model.types], np.uint8)
    _, order = np.unique(-np.array(model.scores, np.float64), return_inverse=True)
    ranks = order.astype(np.uint32)
    single = np.array([len(piece) == 1 for piece in model.pieces])
    merged = (kinds == TokenKind.NORMAL) | (kinds == TokenKind.UNUSED)  # the latter are split again after merging
    ranks[~merged | single] = np.iinfo(np.uint32).max
    merges = symbol_model([piece.encode() for piece in model.pieces], _base(model), kinds, ranks=ranks)
    pieces = set(model.pieces)
    return dataclasses.replace(merges, tested=merges.tested & [pieces.issuperset(piece) for piece in model.pieces])


def _base(model: SentencePieceModel) -> list[list[int]]:
    ids = {piece: token for token, piece in enumerate(model.pieces)}
    fallback = [ids.get(f"<0x{byte:02X}>", -1) for byte in range(256)] if model.byte_fallback else []
    symbols = character_symbols(ids.get, [] if -1 in fallback else fallback, model.types.index(PieceType.UNKNOWN))
    own = (PieceType.BYTE, PieceType.UNKNOWN, PieceType.CONTROL)  # symbols of their own, not spelled in characters
    return [[token] if model.types[token] in own else symbols(piece) for token, piece in enumerate(model.pieces)]
