"""Models of SentencePiece files."""

from __future__ import annotations

from pyharness.bpe.model.model import BpeModel
from pyharness.types import InputError
from pyharness.vocabularies import sentencepiece_file
from pyharness.vocabularies.huggingface.file import AddedToken
from pyharness.vocabularies.sentencepiece_file import ModelType, PieceType, SentencePieceModel

_MERGED = (PieceType.NORMAL, PieceType.UNUSED)


def model_of_sentencepiece(file: SentencePieceModel, label: str) -> BpeModel:
    """Model of a BPE file: pieces merge by descending score across the whole text."""
    _check(file, label)
    ids = {piece: token for token, piece in enumerate(file.pieces)}
    added = [
        AddedToken(token, piece, special=file.types[token] is PieceType.CONTROL)
        for token, piece in enumerate(file.pieces)
        if file.types[token] in (PieceType.CONTROL, PieceType.USER_DEFINED)
    ]
    return BpeModel(
        vocabulary=sentencepiece_file.vocabulary(file),
        merges=sentencepiece_file.merge_model(file),
        alphabet={
            piece.encode(): token
            for token, piece in enumerate(file.pieces)
            if file.types[token] is PieceType.NORMAL and len(piece) == 1
        },
        symbols="characters",
        splitter="none",
        normalizer=file.normalizer,
        drop_space=file.normalizer.add_dummy_prefix or file.normalizer.remove_extra_whitespaces,
        added=tuple(added),
        unknown=file.types.index(PieceType.UNKNOWN),
        fuse_unknown=True,
        fallback=tuple(ids[f"<0x{byte:02X}>"] for byte in range(256)) if file.byte_fallback else (),
        round_trip="normalised" if file.byte_fallback else "lossy",
    )


def _check(file: SentencePieceModel, label: str) -> None:
    """Refuse what would not give SentencePiece's ids."""
    if file.model_type is not ModelType.BPE:
        raise InputError(f"{label} is a SentencePiece {file.model_type.name} model, not BPE: it has no merges")
    known = set(file.pieces)
    if file.byte_fallback and (missing := [byte for byte in range(256) if f"<0x{byte:02X}>" not in known]):
        raise InputError(f"{label} falls back on bytes, but has no piece <0x{missing[0]:02X}>")
    single = {p for p, kind in zip(file.pieces, file.types, strict=True) if kind in _MERGED and len(p) == 1}
    for piece, kind in zip(file.pieces, file.types, strict=True):
        if kind in _MERGED and not single.issuperset(piece):
            raise InputError(f"{label}: piece {piece[:40]!r} has a character that is no piece itself: not merged here")
